import { limits } from '../../../core/limits.ts'
import type { CarrierCapabilities } from '../carrier.ts'

export const sqsCapabilities: CarrierCapabilities = {
  name: 'sqs',
  fifo: true,
  peek: false,
  // SQS counts every receive, and does not count a release back.
  uncountedRelease: false,
  // On a standard queue an older receipt handle still deletes the message.
  fencedReceipts: false,
  delayMsMax: limits.delayMs.max,
  // SQS counts twelve hours from the receive, so there is room for what the attempt has taken.
  returnMsMax: 11 * 3_600_000,
}
