/**
 * Whether a value is an error, whichever global object its class belongs to. Jest runs tests with globals
 * of their own, where an error of Node is not an instance of `Error`.
 */
export function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'
}
