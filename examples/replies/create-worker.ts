/** The worker: merges conversations when their triggers are due, and answers what is merged. */
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
    // What is for a person is not polled.
    poll: ['triggerDelay', 'whatsapp', 'sms', 'email'],
    // Triggers are the collector's own business.
    handle: { whatsapp: answer, sms: answer, email: answer },
  })
}
