/** What the compiler knows about inboxes. */
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineApp, type Inbox, jobs, type Mill, queue } from '../../src/index.ts'

const app = defineApp('app', {
  queues: {
    handoff: queue({ schema: z.object({ at: z.string().transform((at) => new Date(at)) }) }),
    plain: queue(),
    work: jobs({ types: { RUN: z.object({ n: z.number() }) } }),
  },
})

declare const mill: Mill<typeof app>

test('an inbox gives what the contract makes of a message', async () => {
  expectTypeOf(mill.inbox('handoff')).toEqualTypeOf<Inbox<{ at: Date }>>()
  expectTypeOf(mill.inbox('plain')).toEqualTypeOf<Inbox<unknown>>()
  expectTypeOf(mill.inbox('work')).toEqualTypeOf<Inbox<unknown>>()
  const item = await mill.inbox('handoff').read('id')
  expectTypeOf(item?.message).toEqualTypeOf<{ at: Date } | undefined>()
})

test('an inbox is of a queue of the app, and every action names a person', () => {
  // @ts-expect-error: there is no such queue
  mill.inbox('handof')
  // @ts-expect-error: somebody has to be named
  mill.inbox('handoff').claim({})
  // @ts-expect-error: a note without words
  mill.inbox('handoff').note('id', { by: 'anna' })
  // @ts-expect-error: only what `prepare` makes can be emitted
  mill.inbox('handoff').resolve('id', { by: 'anna', emits: ['text'] })
})
