/** Reads a store in Postgres beside the engine, on a connection of its own. */
import assert from 'node:assert/strict'
import pg from 'pg'
import { brokenRows } from './store-inspection.ts'

export interface PostgresPlace {
  readonly url: string
  readonly schema: string
}

export class PostgresInspector {
  readonly #client: pg.Client

  private constructor(client: pg.Client) {
    this.#client = client
  }

  static async open({ url, schema }: PostgresPlace): Promise<PostgresInspector> {
    const client = new pg.Client({ connectionString: url })
    // A statement that fails reports it.
    client.on('error', () => undefined)
    await client.connect()
    await client.query(`SET search_path TO ${pg.escapeIdentifier(schema)}`)
    return new PostgresInspector(client)
  }

  async rows(sql: string): Promise<readonly object[]> {
    const { rows } = await this.#client.query<object>(sql)
    return rows
  }

  /** Checks that every counter, group and flow matches the messages. */
  async assertSound(): Promise<void> {
    for (const query of brokenRows) assert.deepEqual(await this.rows(query), [], query)
  }

  close(): Promise<void> {
    return this.#client.end()
  }
}

export async function assertSoundPostgres(place: PostgresPlace): Promise<void> {
  const inspector = await PostgresInspector.open(place)
  try {
    await inspector.assertSound()
  } finally {
    await inspector.close()
  }
}
