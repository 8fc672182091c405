import { foundation } from './0001-foundation.ts'

/** Applied in order; the schema's version is the number of those applied. Never edit a released one. */
export const migrations: readonly string[] = [foundation]
