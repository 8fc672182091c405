/** One page of a longer list. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Pass as `after` to read on; absent on the last page. */
  readonly next?: string
}
