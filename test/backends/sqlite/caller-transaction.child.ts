/** Writes a row of its own and a job in one transaction, and stays there until it is killed. */
import { DatabaseSync } from 'node:sqlite'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { childArgument, tellParent } from '../../support/child-program.ts'

const { file, end } = childArgument<{ file: string; end: 'open' | 'committed' }>()
const backend = await openSqlite({ file })
const db = new DatabaseSync(file)
db.exec("BEGIN; INSERT INTO exam VALUES ('e-1')")
const job = { type: 'OCR', payload: '{"page":1}', maxAttempts: 2 }
backend.jobs?.enqueueWithin({ queue: 'q', jobs: [job], transaction: db })
if (end === 'committed') db.exec('COMMIT')
tellParent({ kind: 'enqueued' })
