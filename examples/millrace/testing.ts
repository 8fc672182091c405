/** What 'millrace/testing' means to the examples of this checkout; see `examples/package.json`. */
export * from '../../src/testing/index.ts'
