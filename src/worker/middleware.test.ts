import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { HandlerContext } from './handler-context.ts'
import { type Middleware, withMiddleware } from './middleware.ts'

// Nothing here looks at it; it only has to come through.
const context = { id: 'job-1' } as HandlerContext

describe('middleware', () => {
  test('runs in its order around the handler, which is given the context', async () => {
    const order: string[] = []
    const layer =
      (name: string): Middleware =>
      async ({ id }, next) => {
        order.push(`${name} ${id}`)
        const answer = await next()
        order.push(`${name} after`)
        return answer
      }
    const run = withMiddleware([layer('a'), layer('b')], ({ id }) => {
      order.push(`handler ${id}`)
      return 'done'
    })
    assert.equal(await run(context), 'done')
    assert.deepEqual(order, ['a job-1', 'b job-1', 'handler job-1', 'b after', 'a after'])
  })

  test('may answer something else, and need not call the handler', async () => {
    let runs = 0
    const run = withMiddleware([async (_, next) => [await next()], () => 'from a cache'], () => {
      runs += 1
    })
    assert.deepEqual(await run(context), ['from a cache'])
    assert.equal(runs, 0)
  })

  test('sees what the handler throws, and may throw itself', async () => {
    const seen: unknown[] = []
    const failure = new Error('no')
    const watching: Middleware = async (_, next) => {
      try {
        return await next()
      } catch (error) {
        seen.push(error)
        throw error
      }
    }
    const run = withMiddleware([watching], () => {
      throw failure
    })
    await assert.rejects(async () => run(context), failure)
    assert.deepEqual(seen, [failure])
    const refusing = withMiddleware([() => assert.fail('not today')], () => 'done')
    await assert.rejects(async () => refusing(context), /not today/)
  })

  test('calls next once: a handler must not run twice', async () => {
    let runs = 0
    const run = withMiddleware(
      [
        async (_, next) => {
          await next()
          return next()
        },
      ],
      () => {
        runs += 1
      },
    )
    await assert.rejects(async () => run(context), {
      code: 'invalid_argument',
      message: 'A middleware may call next() once: the handler must not run twice.',
    })
    assert.equal(runs, 1)
    // Each run counts for itself.
    const once = withMiddleware([async (_, next) => next()], () => 'again')
    assert.deepEqual([await once(context), await once(context)], ['again', 'again'])
  })
})
