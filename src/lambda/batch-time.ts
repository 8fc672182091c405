/**
 * The time that a function has for its batch. Shortly before the function times out, handlers are asked to
 * stop and no more are started. A handler that does not stop is abandoned, so that the function can still
 * return which records are done.
 */
import type { Timers } from '../core/ports.ts'
import type { RunningBatch } from './record-runner.ts'
import type { LambdaContext } from './sqs-batch.ts'

export interface BatchTime {
  /** Whether no further record may start. */
  readonly isOver: boolean
  end(): void
}

export interface BatchTimeSetup {
  readonly timers: Timers
  readonly lambda: LambdaContext
  readonly stopBeforeMs: number
  readonly batch: Pick<RunningBatch, 'stop' | 'abandon'>
}

export function watchTime({ timers, lambda, stopBeforeMs, batch }: BatchTimeSetup): BatchTime {
  const isOver = (): boolean => lambda.getRemainingTimeInMillis() <= stopBeforeMs
  let cancel = timers.after(lambda.getRemainingTimeInMillis() - stopBeforeMs, () => {
    batch.stop()
    // The other half of the time is for settling and for the response.
    cancel = timers.after(stopBeforeMs / 2, () => batch.abandon())
  })
  return {
    get isOver() {
      return isOver()
    },
    end: () => cancel(),
  }
}
