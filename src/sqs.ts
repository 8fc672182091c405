/** `millrace/sqs`: AWS SQS as a carrier of queues. It needs the package `@aws-sdk/client-sqs`. */
import './app/require-node.ts'

export type {
  Carrier,
  CarrierCapabilities,
  CarrierChoice,
  CarrierOpening,
} from './backends/carriers/carrier.ts'
export type {
  AnySqsClient,
  SqsClientSettings,
  SqsCredentials,
} from './backends/carriers/sqs/any-client.ts'
export {
  type SqsCarrierOptions,
  type SqsPollers,
  sqs,
} from './backends/carriers/sqs/carrier-choice.ts'
