import type { Backend } from '../../backends/backend.ts'

/** One store of the backend under test, fresh for each test. */
export interface ContractHarness {
  readonly backend: Backend
  /** Lets this much of the store's time pass, and lets what falls due on the way happen. */
  advance(ms: number): Promise<void>
  /** Moves the wall clock alone. Leave it out when the store's clock cannot be moved. */
  jumpWall?(ms: number): void
  /** Closes the store and opens it again. Leave it out when nothing is kept between the two. */
  reopen?(): Promise<Backend>
  /** Opens the same store once more, as another process would. Leave it out where none can. */
  openAnother?(): Promise<Backend>
  /** Called after each test; `failed` lets a harness keep the store for a look at it. */
  dispose(end: { readonly failed: boolean }): Promise<void>
}
