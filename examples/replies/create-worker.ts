/** The worker: merges conversations when their triggers are due, and replies to the payloads. */
import type { Worker } from 'millrace'
import { type AnsweringSetup, answerPayload } from './answering/answer-payload.ts'
import type { MergedPayload } from './messages.ts'
import type { RepliesMill } from './open-replies.ts'

export interface RepliesWorkerSetup extends AnsweringSetup {
  readonly mill: RepliesMill
  readonly onAnswered?: (payload: MergedPayload) => void
}

export function createRepliesWorker({ mill, onAnswered, ...setup }: RepliesWorkerSetup): Worker {
  const answer = async (payload: MergedPayload): Promise<void> => {
    await answerPayload(setup, payload)
    onAnswered?.(payload)
  }
  return mill.worker({
    // The handoff queue is left out: people work on it.
    poll: ['triggerDelay', 'whatsapp', 'sms', 'email'],
    // The collector handles its own triggers.
    handle: { whatsapp: answer, sms: answer, email: answer },
  })
}
