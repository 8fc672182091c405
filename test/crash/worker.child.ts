/**
 * Works on jobs until it is killed. The effect of a job is a message that it emits with its
 * acknowledgement; every seventh job fails on its first attempt.
 */
import type { Delivery, Settlement } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { childArgument, tellParent } from '../support/child-program.ts'
import { effectQueue, jobQueue, leaseMs, type WorkerArgument } from './worker.ts'

const { file } = childArgument<WorkerArgument>()
const backend = await openSqlite({ file })
for (;;) {
  const deliveries = await backend.receive({
    queue: jobQueue,
    max: 10,
    visibilityMs: leaseMs,
    waitMs: 200,
  })
  await Promise.all(
    deliveries.map((delivery) =>
      backend.settle({ queue: jobQueue, settlements: [settlement(delivery)] }),
    ),
  )
  await backend.sweep()
  tellParent({ kind: 'progress' })
}

function settlement({ receipt, job, body }: Delivery): Settlement {
  const number = Number(body)
  if (number % 7 === 0 && job?.attempt === 1) {
    return { receipt, outcome: { kind: 'retry', delayMs: 10, error: 'first attempt' } }
  }
  return {
    receipt,
    outcome: { kind: 'acknowledge', result: body },
    emits: [{ queue: effectQueue, message: { body: job?.id ?? 'no job' } }],
  }
}
