/** Resolves 'millrace/postgres' for the examples in this checkout; see `examples/package.json`. */
export * from '../../src/postgres.ts'
