/** What a handler may return: a result, or an outcome made by `retryIn`, `release` or `deadLetter`. */

/** Distinguishes an outcome from a result with the same fields. */
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
