/** For tests of apps: an app in memory with virtual time and spies, a virtual clock, seeded randomness. */
export {
  openForTest,
  type TestHandlers,
  type TestMill,
  type TestOptions,
} from './open-for-test.ts'
export type {
  JobFilter,
  JobsSpy,
  SentFilter,
  SentMessage,
  SentSpy,
  SpiedJob,
} from './spies.ts'
export type { AdvanceOptions, DrainOptions } from './test-driver.ts'
export {
  seededIds,
  seededRandomness,
  VirtualClock,
  type VirtualClockOptions,
  type VirtualPorts,
  virtualPorts,
} from './virtual-clock.ts'
export type { AttemptError, WorkDone, WorkEnd } from './work-record.ts'
