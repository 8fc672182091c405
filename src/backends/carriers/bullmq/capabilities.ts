import { limits } from '../../../core/limits.ts'
import type { CarrierCapabilities } from '../carrier.ts'

export const bullmqCapabilities: CarrierCapabilities = {
  name: 'bullmq',
  fifo: false,
  peek: true,
  uncountedRelease: true,
  fencedReceipts: true,
  delayMsMax: limits.messageDelayMs.max,
  returnMsMax: limits.messageDelayMs.max,
}
