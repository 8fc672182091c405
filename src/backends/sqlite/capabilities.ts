import { limits } from '../../core/limits.ts'
import type { Capabilities } from '../capabilities.ts'

export const sqliteCapabilities: Capabilities = {
  name: 'sqlite',
  atomicSettle: true,
  fifo: true,
  fencedReceipts: true,
  uncountedRelease: true,
  peek: true,
  wakesAcrossProcesses: true,
  receiveAttempts: true,
  durable: true,
  trackedJobs: true,
  callerTransactions: true,
  fairTenants: true,
  ceilings: true,
  killSwitches: true,
  flows: true,
  collectors: true,
  schedules: true,
  metrics: true,
  inboxes: true,
  stacks: true,
  concurrentCalls: false,
  backups: true,
  delayMsMax: limits.messageDelayMs.max,
}
