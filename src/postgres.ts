/** `millrace/postgres`: a Postgres database as the store of an app or a server. It needs the package `pg`. */
import './app/require-node.ts'

export type { AnyPool } from './backends/postgres/any-pool.ts'
export type { LentClient, LentQuery, LentResult } from './backends/postgres/driver/lent-client.ts'
export { type PostgresStoreOptions, postgres } from './backends/postgres/store.ts'
export type { Store, StoreOpening } from './backends/store.ts'
