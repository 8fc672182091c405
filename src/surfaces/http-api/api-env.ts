import type { Caller } from './caller.ts'

/** What the parts of the API tell each other about a request. */
export interface ApiEnv {
  readonly Variables: {
    readonly requestId: string
    /** Set once the caller is known. */
    readonly caller: Caller
  }
}
