/** A handler as users of middy write it: it answers how each record ended. */
import middy, { type MiddyfiedHandler } from '@middy/core'
import sqsPartialBatchFailure from '@middy/sqs-partial-batch-failure'
import type { SQSEvent } from 'aws-lambda'

const grade = async (body: string): Promise<void> => {
  if (body.startsWith('bad')) throw new Error('This one cannot be graded.')
}

export const handler: MiddyfiedHandler<SQSEvent> = middy<SQSEvent>()
  .use(sqsPartialBatchFailure())
  .handler((event: SQSEvent) => Promise.allSettled(event.Records.map(({ body }) => grade(body))))
