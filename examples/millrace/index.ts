/** Resolves 'millrace' for the examples in this checkout; see `examples/package.json`. */
export * from '../../src/index.ts'
