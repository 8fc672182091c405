/** What 'millrace/backend' means to the examples of this checkout; see `examples/package.json`. */
export type * from '../../src/backend.ts'
