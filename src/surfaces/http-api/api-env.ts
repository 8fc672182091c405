import type { Caller } from './caller.ts'

/** Values that the parts of the API pass along with a request. */
export interface ApiEnv {
  readonly Variables: {
    readonly requestId: string
    /** Set after authentication. */
    readonly caller: Caller
  }
}
