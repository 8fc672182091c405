/** Resolves 'millrace/testing' for the examples in this checkout; see `examples/package.json`. */
export * from '../../src/testing/index.ts'
