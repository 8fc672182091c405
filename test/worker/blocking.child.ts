/** A worker whose handler blocks the event loop for as long as its job says. */
import { open } from '../../src/index.ts'
import { childArgument, fromParent, tellParent } from '../support/child-program.ts'
import type { Blocked, Blocking } from './blocking.ts'
import { forge } from './forge.ts'

const { data } = childArgument<Blocking>()
const mill = await open(forge, { data })
const worker = mill.worker({
  poll: ['basic'],
  handle: {
    WORK: async ({ ms }, { signal }) => {
      tellParent({ kind: 'blocking' })
      // The message must have left before nothing leaves any more.
      await new Promise((resolve) => setTimeout(resolve, 50))
      const until = performance.now() + ms
      while (performance.now() < until);
      // Whatever was due meanwhile has its turn now: it must not take the lease for lost.
      await new Promise((resolve) => setTimeout(resolve, 300))
      tellParent<Blocked>({ kind: 'blocked', isAborted: signal.aborted })
      return 'kept'
    },
  },
})
worker.start()
tellParent({ kind: 'ready' })
await fromParent('stop')
await worker.stop()
await mill.close()
process.disconnect()
