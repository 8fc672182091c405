/** Wraps every handler of a worker: code that runs around all of them. */
import { MillraceError } from '../core/millrace-error.ts'
import type { HandlerContext } from './handler-context.ts'

/** Calls `next` once, and answers what it answers or something else; throwing fails the attempt. */
export type Middleware = (
  context: HandlerContext,
  next: () => Promise<unknown>,
) => Promise<unknown> | unknown

type Run = (context: HandlerContext) => Promise<unknown> | unknown

/** The outermost comes first. */
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
