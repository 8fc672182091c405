/** Waits in a long poll and tells when it was answered. */
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { childArgument, fromParent, tellParent } from '../support/child-program.ts'
import type { WaitArgument, WaitReport } from './wait.ts'

const { file, queue } = childArgument<WaitArgument>()
const backend = await openSqlite({ file })
const answer = backend.receive({ queue, max: 1, waitMs: 20_000 })
// Asked after the receive was, this is answered after the receive has found nothing and waiting.
await backend.peek({ queue, state: 'ready', limit: 1 })
await backend.peek({ queue, state: 'ready', limit: 1 })
tellParent({ kind: 'waiting' })
const bodies = (await answer).map(({ body }) => body)
tellParent<WaitReport>({ kind: 'answered', bodies, at: Date.now() })
await fromParent('stop')
await backend.close()
process.disconnect?.()
