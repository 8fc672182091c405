/** Sends one message after the other and prints which were acknowledged and which failed, and how. */
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'

const [file = '', count = '0'] = process.argv.slice(2)
const backend = await openSqlite({ file })
await backend.createQueue({ queue: 'q' })
const acknowledged: string[] = []
const failures: string[] = []
for (let index = 0; index < Number(count); index += 1) {
  const body = `message ${index}`
  try {
    await backend.send({ queue: 'q', messages: [{ body }] })
    acknowledged.push(body)
  } catch (error) {
    failures.push(error instanceof MillraceError ? error.code : String(error))
  }
}
await backend.close()
process.stdout.write(JSON.stringify({ acknowledged, failures }))
