/** The chain of five steps: its order, its pace, and the ways in which it ends. */
import assert from 'node:assert/strict'
import type { Job } from 'millrace'
import { io } from 'socket.io-client'
import { describe, onTestFinished, test } from 'vitest'
import { Identity } from '../identity.ts'
import { type AiProvider, offlineProvider } from '../services/ai-provider.ts'
import { ada, openScene, type Scene, turn } from './scene.ts'

type Ended = 'completed' | 'failed' | 'failed_insufficient_credits'

/** Orders a course as Ada and waits for its end and for its last job. */
async function generate(scene: Scene, modules: number, expected: Ended): Promise<string> {
  const course = scene.services.courses.create({ owner: 'ada', topic: 'Mills', modules })
  await scene.queue.startCourseGeneration(course, 'ada')
  await untilEnded(scene, course, expected)
  return course
}

async function untilEnded(scene: Scene, course: string, expected: Ended): Promise<void> {
  const status = (): string | undefined => scene.services.courses.find(course)?.status
  while (status() === 'generating') await turn()
  assert.equal(status(), expected)
  while ((await stepsOf(scene)).some(({ finishedAt }) => finishedAt === null)) await turn()
}

/** All steps of all courses, oldest first. */
async function stepsOf({ mill }: Scene): Promise<readonly Job[]> {
  const { items } = await mill.jobs.list('course_generation_queue', { limit: 100 })
  return items.toReversed()
}

/** Of the module, or of the course where a step is about all of it. */
function idIn(payload: unknown): string {
  const { course_id, module_id } = payload as { course_id: string; module_id?: string }
  return module_id ?? course_id
}

function failingAt(
  step: 'outline' | 'lessons' | 'exam' | 'mastery',
  times: number,
): { readonly ai: AiProvider } {
  let left = times
  const failing = async (): Promise<never> => {
    left -= 1
    throw new Error('the model is overloaded')
  }
  const original = offlineProvider[step]
  const replaced = (...given: never[]): unknown =>
    left > 0 ? failing() : Reflect.apply(original, offlineProvider, given)
  return { ai: { ...offlineProvider, [step]: replaced } }
}

describe('course generation', () => {
  test('runs its steps one after the other, each once for its course or module', async () => {
    const scene = await openScene()
    scene.startWorker()
    const course = await generate(scene, 2, 'completed')
    const steps = await stepsOf(scene)
    assert.deepEqual(
      steps.map(({ type, payload }) => `${type}:${idIn(payload)}`),
      [
        `outline:${course}`,
        `module_lessons:${course}-1`,
        `module_exam:${course}-1`,
        `module_lessons:${course}-2`,
        `module_exam:${course}-2`,
        `final_exam:${course}`,
        `mastery_analysis:${course}`,
      ],
    )
    const { module, ending } = scene.mill.chains
    assert.equal((await module.read(`${course}-2`))?.status, 'completed')
    assert.deepEqual((await ending.read(course))?.steps, [
      { name: 'final_exam', state: 'done' },
      { name: 'mastery_analysis', state: 'done' },
    ])
    for (const { status, attemptsMade, owner } of steps) {
      assert.deepEqual([status, attemptsMade, owner], ['completed', 1, 'ada'])
    }
    for (const { lessons, exam } of scene.services.courses.modulesOf(course)) {
      assert.ok(lessons !== null && exam !== null)
    }
    assert.ok(scene.services.courses.finalExamOf(course))
    assert.equal(scene.services.users.creditsOf('ada'), 93)
  })

  test('keeps its distance between steps, whatever the number of courses and workers', async () => {
    const scene = await openScene({ variables: { JOB_QUEUE_COURSE_GEN_LIMITER_MS: '150' } })
    scene.startWorker()
    scene.startWorker()
    await Promise.all([generate(scene, 1, 'completed'), generate(scene, 1, 'completed')])
    const starts = (await stepsOf(scene))
      .map(({ startedAt }) => startedAt ?? 0)
      .sort((a, b) => a - b)
    assert.equal(starts.length, 10)
    for (const [index, start] of starts.slice(1).entries()) {
      const gap = start - (starts[index] ?? 0)
      assert.ok(gap >= 150, `${gap} ms between two steps`)
    }
  })

  test('lets so many courses advance at once as configured, and no more', async () => {
    const gates: (() => void)[] = []
    const outline: AiProvider['outline'] = async (course) => {
      await new Promise<void>((resolve) => {
        gates.push(resolve)
      })
      return offlineProvider.outline(course)
    }
    const scene = await openScene({ replace: { ai: { ...offlineProvider, outline } } })
    scene.startWorker()
    scene.startWorker()
    const courses = Array.from({ length: 3 }, () => generate(scene, 1, 'completed'))
    while (gates.length < 2) await turn()
    // The third course waits, and would wait for whoever asks, though the limiter lets a step pass.
    const queue = 'course_generation_queue'
    assert.deepEqual(await scene.backend.receive({ queue, max: 1, waitMs: 500 }), [])
    assert.equal(gates.length, 2)
    for (let opened = 0; opened < courses.length; ) {
      const open = gates.shift()
      if (open !== undefined) opened += 1
      open?.()
      await turn()
    }
    await Promise.all(courses)
  })

  test('ends as failed_insufficient_credits when credits run out, tells the browser, and enqueues nothing further', async () => {
    const scene = await openScene()
    scene.services.users.save({ id: 'ada', email: 'ada@example.com' }, 3)
    const { url } = await scene.startApi()
    const token = await new Identity(scene.environment.jwtSecret).issue(ada)
    const socket = io(url, { auth: { token }, transports: ['websocket'] })
    onTestFinished(() => {
      socket.close()
    })
    const heard = new Promise((resolve) => socket.once('course_failed', resolve))
    const course = scene.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 2 })
    await scene.queue.startCourseGeneration(course, 'ada')
    await socket.emitWithAck('follow', { course_id: course })
    const worker = scene.startWorker()
    await untilEnded(scene, course, 'failed_insufficient_credits')
    const { course_id, status } = (await heard) as Record<string, unknown>
    assert.deepEqual([course_id, status], [course, 'failed_insufficient_credits'])
    await worker.stop()
    const steps = await stepsOf(scene)
    assert.deepEqual(
      steps.map((step) => [step.type, step.status, step.attemptsMade, step.maxAttempts]),
      [
        ['outline', 'completed', 1, 3],
        ['module_lessons', 'completed', 1, 3],
        ['module_exam', 'completed', 1, 3],
        ['module_lessons', 'failed', 1, 3],
      ],
    )
    assert.match(steps.at(-1)?.error ?? '', /no AI credits left/)
    const { failure } = (await scene.mill.chains.module.read(`${course}-2`)) ?? {}
    assert.equal(failure?.step, 'module_lessons')
    const { ready, delayed } = await scene.mill.queues.course_generation_queue.statistics()
    assert.deepEqual([ready, delayed], [0, 0])
  })

  test('tries a step again that failed, and takes its credit once', async () => {
    const scene = await openScene({ replace: failingAt('exam', 1) })
    scene.startWorker()
    await generate(scene, 1, 'completed')
    const attempts = (await stepsOf(scene)).map(({ attemptsMade }) => attemptsMade)
    assert.deepEqual(attempts, [1, 1, 2, 1, 1])
    assert.equal(scene.services.users.creditsOf('ada'), 95)
  })

  test('goes on without a step that fails to the last', async () => {
    const scene = await openScene({ replace: failingAt('lessons', 3) })
    scene.startWorker()
    const course = await generate(scene, 1, 'completed')
    const [, lessons] = await stepsOf(scene)
    assert.deepEqual(
      [lessons?.status, lessons?.attemptsMade, lessons?.result],
      ['completed', 3, { outcome: 'skipped' }],
    )
    assert.equal(scene.services.courses.modulesOf(course)[0]?.lessons, null)
  })

  test('fails without an outline', async () => {
    const scene = await openScene({ replace: failingAt('outline', 3) })
    scene.startWorker()
    await generate(scene, 1, 'failed')
    const steps = await stepsOf(scene)
    assert.deepEqual(
      steps.map(({ type, status }) => [type, status]),
      [['outline', 'failed']],
    )
  })

  test('is not started twice by a repeated request', async () => {
    const scene = await openScene()
    const course = scene.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    const first = await scene.queue.startCourseGeneration(course, 'ada')
    const second = await scene.queue.startCourseGeneration(course, 'ada')
    assert.equal(second.job_id, first.job_id)
    scene.startWorker()
    await untilEnded(scene, course, 'completed')
    assert.equal((await stepsOf(scene)).length, 5)
  })
})
