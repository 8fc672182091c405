import assert from 'node:assert/strict'
import { setTimeout as after, setImmediate as turn } from 'node:timers/promises'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp, jobs, open, type Worker } from '../../src/index.ts'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { ChildProgram } from '../support/child-program.ts'
import { seed } from '../support/seed.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'

const randomness = seededRandomness(seed)

const types = { TASK: z.number() }
const app = defineApp('share', {
  queues: {
    heavy: jobs({ types, visibilityTimeout: '5m' }),
    light: jobs({ types, visibilityTimeout: '5m' }),
  },
})

describe(`a worker with weights of 3 and 1 (MILLRACE_SEED=${seed})`, () => {
  test.each([2, 10])('takes three quarters from the heavy queue, %i at once', (concurrency) =>
    withWorker({ concurrency, task: aFewTurns }, async ({ worker, begun, enqueue, until }) => {
      const waiting = { heavy: 3_000, light: 1_000 }
      await enqueue(waiting)
      worker.start()
      await until(4_000)
      assertShare(whileBothWait(begun, waiting), 0.75)
    }),
  )

  test('does so while another process keeps the store busy', () =>
    withWorker({ concurrency: 4, task: aWhile }, async (scene) => {
      const { worker, begun, enqueue, until } = scene
      const waiting = { heavy: 600, light: 200 }
      await enqueue(waiting)
      const program = new URL('./busy.child.ts', import.meta.url)
      const busy = new ChildProgram(program, { file: scene.storeFile })
      await busy.next('busy')
      worker.start()
      await until(800)
      await busy.kill()
      assertShare(whileBothWait(begun, waiting), 0.75)
    }))

  test('gives every slot to one queue while the other is empty, and owes nothing later', () => {
    // Nobody ends before ten run at once, so this ends only if all ten slots are given.
    let task = meetingOf(10)
    return withWorker({ concurrency: 10, task: () => task() }, async (scene) => {
      const { worker, begun, enqueue, until } = scene
      await enqueue({ heavy: 400, light: 0 })
      worker.start()
      await until(400)
      const opened = Promise.withResolvers<void>()
      task = () => opened.promise
      const waiting = { heavy: 900, light: 300 }
      await enqueue(waiting)
      await until(410)
      opened.resolve()
      task = aFewTurns
      await until(1_600)
      assertShare(whileBothWait(begun.slice(400), waiting), 0.75)
    })
  })

  test('follows a change of its weights while it runs', () =>
    withWorker({ concurrency: 10, task: aFewTurns }, async ({ worker, begun, enqueue, until }) => {
      await enqueue({ heavy: 1_000, light: 1_000 })
      worker.start()
      await until(600)
      worker.setWeight('heavy', 1)
      worker.setWeight('light', 3)
      // What was claimed already keeps to the old weights.
      const changed = begun.length + 10
      await until(1_500)
      assertShare(begun.slice(0, 600), 0.75)
      assertShare(begun.slice(changed, 1_500), 0.25)
    }))
})

type Key = 'heavy' | 'light'
type Counts = Readonly<Record<Key, number>>

interface Work {
  readonly concurrency: number
  /** What a handler does. */
  readonly task: () => Promise<void>
}

interface Scene {
  readonly worker: Worker
  readonly storeFile: string | null
  /** Where each job came from, in the order in which they were begun. */
  readonly begun: readonly Key[]
  enqueue(counts: Counts): Promise<void>
  /** Waits until so many were begun. */
  until(count: number): Promise<void>
}

function withWorker(
  { concurrency, task }: Work,
  run: (scene: Scene) => Promise<void>,
): Promise<void> {
  return inTemporaryFolder('polling-share', async (folder) => {
    await using mill = await open(app, { data: folder.path })
    const begun: Key[] = []
    let awaited = { count: 0, reached: (): void => undefined }
    const worker = mill.worker({
      poll: { heavy: 3, light: 1 },
      concurrency,
      handle: {
        TASK: async (_, { queue }) => {
          begun.push(queue === 'heavy' ? 'heavy' : 'light')
          if (begun.length >= awaited.count) awaited.reached()
          await task()
        },
      },
    })
    const enqueueOne = async (key: Key, count: number): Promise<void> => {
      const all = Array.from({ length: count }, (_, payload) => ({
        type: 'TASK' as const,
        payload,
      }))
      for (let at = 0; at < count; at += 1_000) {
        await mill.jobs.enqueueMany(key, all.slice(at, at + 1_000))
      }
    }
    await run({
      worker,
      storeFile: mill.storeFile,
      begun,
      enqueue: async ({ heavy, light }) => {
        await enqueueOne('heavy', heavy)
        await enqueueOne('light', light)
      },
      until: async (count) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        awaited = { count, reached: resolve }
        if (begun.length < count) await promise
      },
    })
  })
}

/** So short that many end in one turn of the event loop. */
async function aFewTurns(): Promise<void> {
  const turns = Math.floor(randomness.next() * 4)
  for (let count = 0; count < turns; count += 1) await turn()
}

/** So long that many end while a claim is on its way. */
async function aWhile(): Promise<void> {
  await after(randomness.next() * 30)
}

/** A task that ends when so many run at once; then the next meeting begins. */
function meetingOf(size: number): () => Promise<void> {
  let present = 0
  let meeting = Promise.withResolvers<void>()
  return () => {
    const { promise } = meeting
    present += 1
    if (present % size === 0) {
      meeting.resolve()
      meeting = Promise.withResolvers<void>()
    }
    return promise
  }
}

/** The beginning, up to the moment at which one of the queues had given all it had. */
function whileBothWait(begun: readonly Key[], waiting: Counts): readonly Key[] {
  const left = { ...waiting }
  const end = begun.findIndex((key) => {
    left[key] -= 1
    return left[key] === 0
  })
  return begun.slice(0, end)
}

/** The share of the heavy queue, within two points, also in every beginning that is not too short. */
function assertShare(begun: readonly Key[], expected: number): void {
  assert.ok(begun.length > 500, `only ${begun.length} were begun while both had work`)
  let heavy = 0
  for (const [index, key] of begun.entries()) {
    const count = index + 1
    if (key === 'heavy') heavy += 1
    if (count <= 200) continue
    const isNear = Math.abs(heavy / count - expected) <= 0.02
    assert.ok(isNear, `${heavy} of the first ${count} came from the heavy queue`)
  }
}
