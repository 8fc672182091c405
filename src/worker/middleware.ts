/** Middleware: code that runs around every handler of a worker. */
import { MillraceError } from '../core/millrace-error.ts'
import type { HandlerContext } from './handler-context.ts'

/** Calls `next` once, and returns its result or another one. Throwing an error fails the attempt. */
export type Middleware = (
  context: HandlerContext,
  next: () => Promise<unknown>,
) => Promise<unknown> | unknown

type Run = (context: HandlerContext) => Promise<unknown> | unknown

/** The first layer is the outermost. */
export function withMiddleware(layers: readonly Middleware[], run: Run): Run {
  return layers.reduceRight<Run>(
    (inner, layer) => (context) => {
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
    },
    run,
  )
}
