/** Resolves 'millrace/server' for the examples in this checkout; see `examples/package.json`. */
export * from '../../src/server.ts'
