/** Fixed responses that an SDK accepts, for the requests of the benchmark. */
import { createHash, randomUUID } from 'node:crypto'
import { body } from '../load.ts'

const md5 = createHash('md5').update(body).digest('hex')
const ten: readonly number[] = Array.from({ length: 10 }, (_, index) => index)

export const fixedAnswers: Readonly<Record<string, string>> = {
  CreateQueue: JSON.stringify({ QueueUrl: 'http://127.0.0.1:4566/000000000000/bench' }),
  SendMessage: JSON.stringify({ MD5OfMessageBody: md5, MessageId: randomUUID() }),
  SendMessageBatch: JSON.stringify({
    Successful: ten.map((id) => ({
      Id: `${id}`,
      MessageId: randomUUID(),
      MD5OfMessageBody: md5,
    })),
  }),
  ReceiveMessage: JSON.stringify({
    Messages: ten.map((id) => ({
      MessageId: randomUUID(),
      ReceiptHandle: `r1-1-${100_000 + id}-1099511627777-1234567`,
      MD5OfBody: md5,
      Body: body,
    })),
  }),
  DeleteMessageBatch: JSON.stringify({ Successful: ten.map((id) => ({ Id: `${id}` })) }),
}
