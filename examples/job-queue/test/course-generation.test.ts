/** The five steps of a course: their order, their rate, and how they end. */
import assert from 'node:assert/strict'
import type { Job } from 'millrace'
import { io } from 'socket.io-client'
import { describe, onTestFinished, test } from 'vitest'
import { openBackend } from '../../shared/not-public.ts'
import { Identity } from '../identity.ts'
import { type AiProvider, offlineProvider } from '../services/ai-provider.ts'
import { ada, type Fixture, openFixture, turn } from './fixture.ts'

type Ended = 'completed' | 'failed' | 'failed_insufficient_credits'

/** Orders a course as Ada, and waits for its end and its last job. */
async function generate(fixture: Fixture, modules: number, expected: Ended): Promise<string> {
  const course = fixture.services.courses.create({ owner: 'ada', topic: 'Mills', modules })
  await fixture.queue.startCourseGeneration(course, 'ada')
  await untilEnded(fixture, course, expected)
  return course
}

async function untilEnded(fixture: Fixture, course: string, expected: Ended): Promise<void> {
  const status = (): string | undefined => fixture.services.courses.find(course)?.status
  while (status() === 'generating') await turn()
  assert.equal(status(), expected)
  while ((await stepsOf(fixture)).some(({ finishedAt }) => finishedAt === null)) await turn()
}

/** All steps of all courses, oldest first. */
async function stepsOf({ mill }: Fixture): Promise<readonly Job[]> {
  const { items } = await mill.jobs.list('course_generation_queue', { limit: 100 })
  return items.toReversed()
}

/** The id of the module, or of the course for a step about the whole course. */
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
    const fixture = await openFixture()
    fixture.startWorker()
    const course = await generate(fixture, 2, 'completed')
    const steps = await stepsOf(fixture)
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
    const { module, ending } = fixture.mill.chains
    assert.equal((await module.read(`${course}-2`))?.status, 'completed')
    assert.deepEqual((await ending.read(course))?.steps, [
      { name: 'final_exam', state: 'done' },
      { name: 'mastery_analysis', state: 'done' },
    ])
    for (const { status, attemptsMade, owner } of steps) {
      assert.deepEqual([status, attemptsMade, owner], ['completed', 1, 'ada'])
    }
    for (const { lessons, exam } of fixture.services.courses.modulesOf(course)) {
      assert.ok(lessons !== null && exam !== null)
    }
    assert.ok(fixture.services.courses.finalExamOf(course))
    assert.equal(fixture.services.users.creditsOf('ada'), 93)
  })

  test('waits between steps, across all courses and workers', async () => {
    const fixture = await openFixture({ variables: { JOB_QUEUE_COURSE_GEN_LIMITER_MS: '150' } })
    fixture.startWorker()
    fixture.startWorker()
    await Promise.all([generate(fixture, 1, 'completed'), generate(fixture, 1, 'completed')])
    const starts = (await stepsOf(fixture))
      .map(({ startedAt }) => startedAt ?? 0)
      .sort((a, b) => a - b)
    assert.equal(starts.length, 10)
    for (const [index, start] of starts.slice(1).entries()) {
      const gap = start - (starts[index] ?? 0)
      assert.ok(gap >= 150, `${gap} ms between two steps`)
    }
  })

  test('runs no more courses at once than configured', async () => {
    const gates: (() => void)[] = []
    const outline: AiProvider['outline'] = async (course) => {
      await new Promise<void>((resolve) => {
        gates.push(resolve)
      })
      return offlineProvider.outline(course)
    }
    const fixture = await openFixture({ replace: { ai: { ...offlineProvider, outline } } })
    fixture.startWorker()
    fixture.startWorker()
    const courses = Array.from({ length: 3 }, () => generate(fixture, 1, 'completed'))
    while (gates.length < 2) await turn()
    // The third course must wait, although the rate limit allows another step.
    const queue = 'course_generation_queue'
    await using store = await openBackend(fixture.environment)
    assert.deepEqual(await store.backend.receive({ queue, max: 1, waitMs: 500 }), [])
    assert.equal(gates.length, 2)
    for (let opened = 0; opened < courses.length; ) {
      const open = gates.shift()
      if (open !== undefined) opened += 1
      open?.()
      await turn()
    }
    await Promise.all(courses)
  })

  test('ends as failed_insufficient_credits when credits run out, notifies the browser, and enqueues nothing more', async () => {
    const fixture = await openFixture()
    fixture.services.users.save({ id: 'ada', email: 'ada@example.com' }, 3)
    const { url } = await fixture.startApi()
    const token = await new Identity(fixture.environment.jwtSecret).issue(ada)
    const socket = io(url, { auth: { token }, transports: ['websocket'] })
    onTestFinished(() => {
      socket.close()
    })
    const heard = new Promise((resolve) => socket.once('course_failed', resolve))
    const course = fixture.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 2 })
    await fixture.queue.startCourseGeneration(course, 'ada')
    await socket.emitWithAck('follow', { course_id: course })
    const worker = fixture.startWorker()
    await untilEnded(fixture, course, 'failed_insufficient_credits')
    const { course_id, status } = (await heard) as Record<string, unknown>
    assert.deepEqual([course_id, status], [course, 'failed_insufficient_credits'])
    await worker.stop()
    const steps = await stepsOf(fixture)
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
    const { failure } = (await fixture.mill.chains.module.read(`${course}-2`)) ?? {}
    assert.equal(failure?.step, 'module_lessons')
    const { ready, delayed } = await fixture.mill.queues.course_generation_queue.statistics()
    assert.deepEqual([ready, delayed], [0, 0])
  })

  test('retries a failed step, and takes its credit once', async () => {
    const fixture = await openFixture({ replace: failingAt('exam', 1) })
    fixture.startWorker()
    await generate(fixture, 1, 'completed')
    const attempts = (await stepsOf(fixture)).map(({ attemptsMade }) => attemptsMade)
    assert.deepEqual(attempts, [1, 1, 2, 1, 1])
    assert.equal(fixture.services.users.creditsOf('ada'), 95)
  })

  test('continues without a step whose attempts all fail', async () => {
    const fixture = await openFixture({ replace: failingAt('lessons', 3) })
    fixture.startWorker()
    const course = await generate(fixture, 1, 'completed')
    const [, lessons] = await stepsOf(fixture)
    assert.deepEqual(
      [lessons?.status, lessons?.attemptsMade, lessons?.result],
      ['completed', 3, { outcome: 'skipped' }],
    )
    assert.equal(fixture.services.courses.modulesOf(course)[0]?.lessons, null)
  })

  test('fails without an outline', async () => {
    const fixture = await openFixture({ replace: failingAt('outline', 3) })
    fixture.startWorker()
    await generate(fixture, 1, 'failed')
    const steps = await stepsOf(fixture)
    assert.deepEqual(
      steps.map(({ type, status }) => [type, status]),
      [['outline', 'failed']],
    )
  })

  test('is not started twice by a repeated request', async () => {
    const fixture = await openFixture()
    const course = fixture.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    const first = await fixture.queue.startCourseGeneration(course, 'ada')
    const second = await fixture.queue.startCourseGeneration(course, 'ada')
    assert.equal(second.job_id, first.job_id)
    fixture.startWorker()
    await untilEnded(fixture, course, 'completed')
    assert.equal((await stepsOf(fixture)).length, 5)
  })
})
