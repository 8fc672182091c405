/**
 * What tests of the examples need of Millrace and the package does not export: a store without an app,
 * and templates as data. The examples themselves do without it, so do not copy this file.
 */
export { openSqlite } from '../../src/backends/sqlite/index.ts'
export { resolveQueues } from '../../src/contracts/resolve-queues.ts'
export { bringUp, planUp, readSources } from '../../src/stacks/bring-up.ts'
export { readTemplate } from '../../src/templates/read-template.ts'
export type { ReadTemplate, Stack } from '../../src/templates/stack.ts'
