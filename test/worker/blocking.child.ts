/** A worker whose handler blocks the event loop for as long as its job says; 0 ms ends at once. */
import { open } from '../../src/index.ts'
import { postgres } from '../../src/postgres.ts'
import { childArgument, fromParent, tellParent } from '../support/child-program.ts'
import type { Blocked, Blocking } from './blocking.ts'
import { forge, patientForge } from './forge.ts'

const given = childArgument<Blocking>()
const mill =
  'url' in given
    ? await open(patientForge, { store: postgres(given.url) })
    : await open(forge, { data: given.data })
const worker = mill.worker({
  poll: ['basic'],
  concurrency: 1,
  handle: {
    WORK: ({ ms, atOnce }, { signal }) => {
      if (ms === 0) return 'fast'
      if (atOnce) return spin(ms)
      return block(ms, signal)
    },
  },
})

function spin(ms: number): string {
  const until = performance.now() + ms
  while (performance.now() < until);
  return 'spun'
}

async function block(ms: number, signal: AbortSignal): Promise<string> {
  tellParent({ kind: 'blocking' })
  // The message must have left before nothing leaves any more.
  await new Promise((resolve) => setTimeout(resolve, 50))
  spin(ms)
  // Whatever was due meanwhile has its turn now: it must not take the lease for lost.
  await new Promise((resolve) => setTimeout(resolve, 300))
  tellParent<Blocked>({ kind: 'blocked', isAborted: signal.aborted })
  return 'kept'
}

worker.start()
tellParent({ kind: 'ready' })
await fromParent('stop')
await worker.stop()
await mill.close()
process.disconnect()
