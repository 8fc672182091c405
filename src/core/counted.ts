/** A number and its noun, in the singular for 1: `1 queue`, `3 queues`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
