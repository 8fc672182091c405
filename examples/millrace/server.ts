/** What 'millrace/server' means to the examples of this checkout; see `examples/package.json`. */
export * from '../../src/server.ts'
