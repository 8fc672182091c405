/** An app with chains, and a worker for their steps that tests tell what to do. */
import { z } from 'zod'
import { chain, defineApp, flow, jobs, queue } from '../../src/index.ts'
import { started, type WorkerScene } from '../support/worker-scene.ts'

const Outline = z.object({ chapters: z.number() })
const retries = { backoff: { from: '1s', factor: 1, jitter: 0 }, deadLetter: { after: 2 } } as const

export const academy = defineApp('academy', {
  queues: {
    courses: jobs({
      types: {
        OUTLINE: { schema: z.object({ topic: z.string() }), result: Outline },
        WRITE: z.object({ topic: z.string(), chapters: z.number() }),
      },
      attempts: 2,
      ...retries,
    }),
    print: queue({ schema: z.object({ pages: z.number() }), ...retries }),
    chapters: queue({ schema: z.object({ chapter: z.number() }), ...retries }),
    bound: queue({ schema: z.object({ topic: z.string() }), ...retries }),
  },
  flows: {
    chapters: flow({ units: 'chapters', finalize: 'bound' }),
    silent: flow({ units: 'chapters' }),
    shelf: flow({ units: 'print', finalize: 'bound' }),
  },
  chains: {
    course: chain({
      steps: [
        { name: 'outline', queue: 'courses', type: 'OUTLINE' },
        {
          name: 'write',
          queue: 'courses',
          type: 'WRITE',
          from: (outline: { chapters: number }, start: { topic: string }) => ({
            topic: start.topic,
            chapters: outline.chapters,
          }),
        },
        { name: 'print', queue: 'print' },
      ],
      deadline: '1h',
    }),
    brochure: chain({
      steps: [
        { name: 'print', queue: 'print' },
        { name: 'bind', queue: 'bound', from: () => ({ topic: 'tides' }) },
      ],
    }),
  },
})

export type Academy = typeof academy
export type Course = WorkerScene<Academy>

export interface Handlers {
  readonly outline?: (topic: string) => unknown
  readonly write?: (chapters: number) => unknown
  readonly print?: (pages: number) => unknown
}

/** Starts a worker whose steps do as they are told; `ran` is what ran, in order. */
export function work(
  { mill }: Course,
  handlers: Handlers = {},
): { readonly ran: readonly string[] } {
  const ran: string[] = []
  const { outline = () => ({ chapters: 3 }), write = (chapters) => ({ pages: chapters * 10 }) } =
    handlers
  started(
    mill.worker({
      poll: ['courses', 'print', 'bound'],
      handle: {
        OUTLINE: ({ topic }) => {
          ran.push(`outline ${topic}`)
          return outline(topic) as { readonly chapters: number }
        },
        WRITE: ({ chapters }) => {
          ran.push(`write ${chapters}`)
          return write(chapters)
        },
        print: ({ pages }) => {
          ran.push(`print ${pages}`)
          return handlers.print?.(pages)
        },
        bound: ({ topic }) => void ran.push(`bind ${topic}`),
      },
    }),
  )
  return { ran }
}

export const statesOf = async ({ mill }: Course, id: string): Promise<unknown> =>
  (await mill.chains.course.read(id))?.steps.map(({ state }) => state)
