/**
 * Internals of Millrace that only the tests of the examples need: a store without an app, and parsed
 * templates. Do not copy this file.
 */
export { openBackend } from '../../src/app/open-backend.ts'
export { type OpenedPostgres, openPostgres } from '../../src/backends/postgres/index.ts'
export type { Store } from '../../src/backends/store.ts'
export { resolveQueues } from '../../src/contracts/resolve-queues.ts'
export { bringUp, planUp, readSources } from '../../src/stacks/bring-up.ts'
export { readTemplate } from '../../src/templates/read-template.ts'
export type { ReadTemplate, Stack } from '../../src/templates/stack.ts'
export { settleTurns } from '../../src/testing/virtual-clock.ts'
