/** Resolves 'millrace/backend' for the examples in this checkout; see `examples/package.json`. */
export type * from '../../src/backend.ts'
