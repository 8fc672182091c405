/** The one rule for health checks, of the server and of an open app: the store can be read and written. */
import type { Backend } from '../backends/backend.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { pause } from '../core/pause.ts'
import type { Ports } from '../core/ports.ts'

/** A supervisor wants an answer, also while another process holds the store. */
const readyWithinMs = 2_000

/** Resolves when the store can be used, and rejects with the reason when it cannot. */
export async function checkReady(
  backend: Pick<Backend, 'check'>,
  { timers }: Pick<Ports, 'timers'>,
): Promise<void> {
  const answered = new AbortController()
  const tooLate = pause(timers, readyWithinMs, answered.signal).then(() => {
    if (!answered.signal.aborted) throw new MillraceError('store_busy')
  })
  try {
    await Promise.race([backend.check(), tooLate])
  } finally {
    answered.abort()
  }
}
