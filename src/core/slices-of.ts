/** The items in their order, in slices of at most this size. */
export function slicesOf<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  if (items.length <= size) return [items]
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size))
}
