/** Books payments as handlers did before promises: the callback says how it ended. */
const { SQS } = require('@aws-sdk/client-sqs')

const sqs = new SQS()
const version = 'v1'

exports.handler = (event, context, callback) => {
  context.callbackWaitsForEmptyEventLoop = false
  const [record] = event.Records
  const payment = JSON.parse(record.body)
  if (payment.cents < 0) {
    callback(null, { batchItemFailures: [{ itemIdentifier: record.messageId }] })
    return
  }
  const booking = { ...payment, version, account: record.attributes.MessageGroupId }
  sqs.sendMessage(
    { QueueUrl: process.env.BOOKINGS_URL, MessageBody: JSON.stringify(booking) },
    (error) => callback(error, { batchItemFailures: [] }),
  )
}
