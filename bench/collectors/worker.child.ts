/** The worker process that merges conversations. */
import { answerRequests } from '../child-process.ts'
import { openTalks } from './app.ts'

export interface MergeRequest {
  readonly kind: 'merge'
  readonly data: string
}

answerRequests(async ({ data }: MergeRequest) => {
  const mill = await openTalks(data)
  mill.worker({ poll: ['triggerDelay'], handle: {}, concurrency: 100 }).start()
})
