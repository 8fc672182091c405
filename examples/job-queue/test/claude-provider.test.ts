/** The Claude provider, against a local server with the same protocol. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { ClaudeStub } from '../demo/claude-stub.ts'
import { aiProviderOf, offlineProvider } from '../services/ai-provider.ts'
import { openFixture, turn } from './fixture.ts'

async function startClaude(): Promise<ClaudeStub> {
  const claude = await ClaudeStub.start()
  onTestFinished(() => claude[Symbol.asyncDispose]())
  return claude
}

const settingsOf = ({ url }: ClaudeStub) => ({ apiKey: 'key', baseUrl: url, model: 'model-1' })

describe('Claude as the provider', () => {
  test('is used if there is a key, and the stub otherwise', async () => {
    assert.equal(await aiProviderOf(null), offlineProvider)
    const claude = await startClaude()
    const ai = await aiProviderOf(settingsOf(claude))
    assert.equal(await ai.summarize('Mills grind corn.'), 'Summarize: Mills grind corn.')
    assert.equal(await ai.keywords('Mills grind corn.'), 'Name: Mills grind corn.')
    const [request] = claude.requests
    assert.equal(request?.model, 'model-1')
  })

  test('plans the ordered number of modules, and writes their lessons and exams', async () => {
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

  test('that is overloaded fails the attempt, and the queue retries', async () => {
    const claude = await startClaude()
    const ai = await aiProviderOf(settingsOf(claude))
    const fixture = await openFixture({ replace: { ai } })
    // The client makes two requests per attempt, so the first attempt gets both errors.
    claude.failNext(529, 529)
    const course = fixture.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    const { job_id } = await fixture.queue.startCourseGeneration(course, 'ada')
    fixture.startWorker()
    const job = await fixture.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade], ['completed', 2])
    while (fixture.services.courses.find(course)?.status === 'generating') await turn()
    assert.equal(fixture.services.courses.find(course)?.status, 'completed')
    assert.deepEqual(
      fixture.services.courses.modulesOf(course).map(({ title }) => title),
      ['Part 1'],
    )
  })

  test('keeps its key out of the log and the job', async () => {
    const claude = await startClaude()
    const ai = await aiProviderOf({ ...settingsOf(claude), apiKey: 'sk-not-for-the-log' })
    const fixture = await openFixture({ replace: { ai } })
    claude.failNext(401, 401, 401)
    const course = fixture.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    const { job_id } = await fixture.queue.startCourseGeneration(course, 'ada')
    fixture.startWorker()
    const job = await fixture.mill.jobs.waitFor(job_id)
    assert.equal(job.status, 'failed')
    assert.ok(!JSON.stringify([fixture.lines, job]).includes('sk-not-for-the-log'))
  })
})
