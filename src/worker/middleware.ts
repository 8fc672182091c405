/** Middleware: code that runs around every handler of a worker. */
import type { BatchContext } from '../contracts/batch-handler.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { HandlerContext } from './handler-context.ts'

/** The context of a handler, or of a batch: then `items` has the contexts of its items. */
export type MiddlewareContext =
  | (HandlerContext & { readonly items?: undefined })
  | (BatchContext<HandlerContext> & OnlyOfItems)

type OnlyOfItems = {
  readonly [Name in Exclude<keyof HandlerContext, keyof BatchContext>]?: undefined
}

/**
 * Calls `next` once, and returns its result or another one. Throwing an error fails the attempt. It runs once
 * around a batch, and an error fails all its items.
 */
export type Middleware = (
  context: MiddlewareContext,
  next: () => Promise<unknown>,
) => Promise<unknown> | unknown

type Run = (context: MiddlewareContext) => Promise<unknown> | unknown

/** The first layer is the outermost. */
export function withMiddleware(layers: readonly Middleware[], run: Run): Run {
  return layers.reduceRight<Run>((inner, layer) => {
    const callLayer: Run = (context) => {
      let called = false
      return layer(context, async () => {
        if (called) {
          throw new MillraceError('invalid_argument', {
            message: 'A middleware may call next() once: the handler must not run twice.',
          })
        }
        called = true
        return inner(context)
      })
    }
    return callLayer
  }, run)
}
