/** Runs one statement on a connection of its own and returns its rows. */
import { Client, type QueryResultRow } from 'pg'

export async function query<Row extends QueryResultRow>(
  url: string,
  statement: string,
): Promise<readonly Row[]> {
  const client = new Client(url)
  // A lost connection also rejects the statement.
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<Row>(statement)
    return rows
  } finally {
    await client.end()
  }
}
