/** The provider that asks Claude, against a server on this machine that speaks its protocol. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { ClaudeStandIn } from '../demo/claude-stand-in.ts'
import { aiProviderOf, offlineProvider } from '../services/ai-provider.ts'
import { openScene, turn } from './scene.ts'

async function startClaude(): Promise<ClaudeStandIn> {
  const claude = await ClaudeStandIn.start()
  onTestFinished(() => claude[Symbol.asyncDispose]())
  return claude
}

const settingsOf = ({ url }: ClaudeStandIn) => ({ apiKey: 'key', baseUrl: url, model: 'model-1' })

describe('Claude as the provider', () => {
  test('is used with a key, and the stand-in without one', async () => {
    assert.equal(await aiProviderOf(null), offlineProvider)
    const claude = await startClaude()
    const ai = await aiProviderOf(settingsOf(claude))
    assert.equal(await ai.summarize('Mills grind corn.'), 'Summarize: Mills grind corn.')
    assert.equal(await ai.keywords('Mills grind corn.'), 'Name: Mills grind corn.')
    const [request] = claude.requests
    assert.equal(request?.model, 'model-1')
  })

  test('plans as many modules as were ordered, and writes their lessons and exams', async () => {
    const claude = await startClaude()
    const ai = await aiProviderOf(settingsOf(claude))
    const modules = await ai.outline({ topic: 'Mills', modules: 2 })
    assert.deepEqual(modules, [{ title: 'Part 1' }, { title: 'Part 2' }])
    assert.deepEqual(await ai.lessons({ topic: 'Mills', title: 'Part 1' }), [
      { title: 'About Module: Part 1', text: 'All of Course: Mills' },
    ])
    assert.deepEqual(await ai.exam({ title: 'Mills', about: ['Part 1', 'Part 2'] }), [
      { question: 'What is Part 1?', answer: 'Part 1' },
      { question: 'What is Part 2?', answer: 'Part 2' },
    ])
    assert.equal(await ai.mastery({ topic: 'Mills', modules: ['Part 1'] }), 'Say: Course: Mills')
    const forms = claude.requests.map(({ tool_choice: choice }) => choice)
    assert.deepEqual(forms.slice(0, 3), [
      { type: 'tool', name: 'outline' },
      { type: 'tool', name: 'lessons' },
      { type: 'tool', name: 'exam' },
    ])
  })

  test('that is overloaded fails the attempt, and the queue tries again', async () => {
    const claude = await startClaude()
    const ai = await aiProviderOf(settingsOf(claude))
    const scene = await openScene({ replace: { ai } })
    // The client itself tries twice, so the first attempt sees two of them.
    claude.failNext(529, 529)
    const course = scene.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    const { job_id } = await scene.queue.startCourseGeneration(course, 'ada')
    scene.startWorker()
    const job = await scene.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade], ['completed', 2])
    while (scene.services.courses.find(course)?.status === 'generating') await turn()
    assert.equal(scene.services.courses.find(course)?.status, 'completed')
    assert.deepEqual(
      scene.services.courses.modulesOf(course).map(({ title }) => title),
      ['Part 1'],
    )
  })

  test('keeps its key out of the log and the job', async () => {
    const claude = await startClaude()
    const ai = await aiProviderOf({ ...settingsOf(claude), apiKey: 'sk-not-for-the-log' })
    const scene = await openScene({ replace: { ai } })
    claude.failNext(401, 401, 401)
    const course = scene.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    const { job_id } = await scene.queue.startCourseGeneration(course, 'ada')
    scene.startWorker()
    const job = await scene.mill.jobs.waitFor(job_id)
    assert.equal(job.status, 'failed')
    assert.ok(!JSON.stringify([scene.lines, job]).includes('sk-not-for-the-log'))
  })
})
