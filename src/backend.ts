/**
 * `millrace/backend`: the types of a store, for programs that call a store directly and for authors of a
 * store. There is nothing here to run; `describeBackendContract` of `millrace/testing/backend`
 * tests a store.
 */
export type * from './backends/alarm-store.ts'
export type * from './backends/backend.ts'
export type * from './backends/budget-store.ts'
export type * from './backends/capabilities.ts'
export type * from './backends/collector-store.ts'
export type * from './backends/finding-store.ts'
export type * from './backends/flow-store.ts'
export type * from './backends/inbox-store.ts'
export type * from './backends/job-store.ts'
export type * from './backends/metric-store.ts'
export type * from './backends/schedule-store.ts'
export type * from './backends/switch-store.ts'
