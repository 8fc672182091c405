/** A worker whose handler blocks the event loop until the file exists that its job names. */
import { existsSync } from 'node:fs'
import { open } from '../../src/index.ts'
import { postgres } from '../../src/postgres.ts'
import { childArgument, fromParent, tellParent } from '../support/child-program.ts'
import { type Blocked, type Blocking, standStill } from './blocking.ts'
import { forge } from './forge.ts'

const given = childArgument<Blocking>()
const mill =
  'url' in given
    ? await open(forge, { store: postgres(given.url) })
    : await open(forge, { data: given.data })
const worker = mill.worker({
  poll: ['basic'],
  concurrency: 1,
  handle: {
    WORK: ({ blockedUntil, atOnce }, { signal }) => {
      if (blockedUntil === undefined) return 'fast'
      if (atOnce) return blockUntil(blockedUntil)
      return block(blockedUntil, signal)
    },
  },
})

function blockUntil(file: string): string {
  while (!existsSync(file)) standStill(10)
  return 'blocked'
}

async function block(file: string, signal: AbortSignal): Promise<string> {
  // The message must have left before nothing leaves any more.
  await new Promise((resolve) => process.send?.({ kind: 'blocking' }, resolve))
  blockUntil(file)
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
