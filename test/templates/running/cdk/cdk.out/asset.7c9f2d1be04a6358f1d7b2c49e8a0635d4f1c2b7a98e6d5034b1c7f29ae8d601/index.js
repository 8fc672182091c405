const __defProp = Object.defineProperty
const __export = (target, all) => {
  for (const name in all) __defProp(target, name, { get: all[name], enumerable: true })
}

// lambda/resize.ts
const resize_exports = {}
__export(resize_exports, { handler: () => handler })
module.exports = resize_exports
const import_client_sqs = require('@aws-sdk/client-sqs')
const sqs = new import_client_sqs.SQSClient({})
const version = 'v1'
async function resize({ body, attributes }) {
  const { key, width } = JSON.parse(body)
  if (!key.endsWith('.png')) throw new Error('not a picture')
  const receives = attributes.ApproximateReceiveCount
  await sqs.send(
    new import_client_sqs.SendMessageCommand({
      QueueUrl: process.env.THUMBNAILS_QUEUE_URL,
      MessageBody: JSON.stringify({ version, key: `thumbnails/${key}`, width, receives }),
    }),
  )
}
const handler = async (event) => {
  const ended = await Promise.allSettled(event.Records.map(resize))
  const failed = event.Records.filter((_, at) => ended[at].status === 'rejected')
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) }
}
