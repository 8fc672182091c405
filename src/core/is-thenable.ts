/** Whether a value can be awaited. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  const then = typeof value === 'object' && value !== null && 'then' in value && value.then
  return typeof then === 'function'
}
