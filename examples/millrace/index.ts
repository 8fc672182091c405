/** What 'millrace' means to the examples of this checkout; see `examples/package.json`. */
export * from '../../src/index.ts'
