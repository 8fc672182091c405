/** What a handler may return: a result, or one of the outcomes that `retryIn`, `release` and `deadLetter` make. */

/** Tells an outcome from a result that happens to look like one. */
export const outcomeKind: unique symbol = Symbol('outcome of a handler')

export type HandlerOutcome =
  | {
      readonly [outcomeKind]: 'retry'
      readonly delayMs: number
      readonly reason: string | undefined
    }
  | { readonly [outcomeKind]: 'release' }
  | { readonly [outcomeKind]: 'dead_letter'; readonly reason: string }

export type HandlerReturn<Result> = Result | HandlerOutcome | Promise<Result | HandlerOutcome>
