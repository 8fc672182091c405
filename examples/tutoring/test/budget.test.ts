/** The model's budget: functions report tokens, and the one that reaches the limit turns on LLM_PAUSED. */
import assert from 'node:assert/strict'
import { open } from 'millrace'
import { describe, test } from 'vitest'
import { tutoring } from '../backend/app.ts'
import { llmClassifierWorker } from '../backend/handlers/llm-classifier-worker.ts'
import { claudeClassifier } from '../backend/services/claude-classifier.ts'
import { openTokenMeter } from '../backend/services/llm-budget.ts'
import { called, type Fixture, failed, openFixture } from './fixture.ts'

const limit = tutoring.budgets?.['llm']?.limit ?? 0

/** Classifies one attempt like the function, and reports its tokens to the budget. */
async function classify(fixture: Fixture, line: string): Promise<readonly string[]> {
  const { attempt, take, classifying, mill } = fixture
  await attempt(line)
  const meter = { spend: async (tokens: number) => void (await mill.budgets.spend('llm', tokens)) }
  const worker = called(llmClassifierWorker({ ...classifying, meter }))
  return failed(await worker(await take('SQS_LLM_CLASSIFY_URL')))
}

describe('the budget of the model', () => {
  test('counts the tokens of calls, and pauses nothing before it is spent', async () => {
    const fixture = await openFixture()
    assert.deepEqual(await classify(fixture, '58'), [])
    const { spent, tripped } = await fixture.mill.budgets.read('llm')
    assert.ok(spent > 100 && spent < 2_000, `${spent} tokens`)
    assert.equal(tripped, false)
    assert.deepEqual(await fixture.mill.switches.list(), [])
  })

  test('diverts messages once it is spent, until the switch is lifted', async () => {
    const fixture = await openFixture()
    const { mill, take, claude, attempt } = fixture
    const { llmClassifyQueue, llmClassifyDlq, exerciseGenerateQueue } = mill.queues
    await mill.budgets.spend('llm', limit - 1)
    assert.deepEqual(await classify(fixture, '58'), [])
    const [paused] = await mill.switches.list()
    assert.deepEqual(
      [paused?.value, paused?.mode, paused?.by],
      ['LLM_PAUSED', 'divert', 'budget llm'],
    )

    await attempt('86')
    await exerciseGenerateQueue.send({
      subdomain_code: 'PRACTICE',
      grade_level: 5,
      target_error_codes: ['ADD_CARRY_OMITTED'],
      count: 1,
      trace_id: 't-1',
    })
    assert.deepEqual((await take('SQS_LLM_CLASSIFY_URL')).Records, [])
    assert.deepEqual((await take('SQS_EXERCISE_GENERATE_URL')).Records, [])
    assert.equal(claude.requests.length, 1)
    assert.equal((await llmClassifyDlq.statistics()).ready, 1)

    await mill.switches.lift({ name: 'LLM_PAUSED' }, { by: 'test' })
    const redrive = await llmClassifyQueue.deadLetters.redrive()
    assert.equal((await redrive?.finished())?.moved, 1)
    assert.equal((await take('SQS_LLM_CLASSIFY_URL')).Records.length, 1)
    // The budget stays spent. An operator who lifts the switch decides to spend more.
    assert.equal((await mill.budgets.read('llm')).tripped, true)
    assert.deepEqual(await mill.switches.list(), [])
  })

  test('is shared by all functions, through the configured store', async () => {
    const fixture = await openFixture()
    const { store } = fixture
    await using other = await open(tutoring, { store, onNotice: () => undefined })
    const meter = await openTokenMeter(store)
    await meter.spend(7)
    await other.budgets.spend('llm', 5)
    assert.equal((await fixture.mill.budgets.read('llm')).spent, 12)
    await meter.close()
  })

  test('is not counted without a store', async () => {
    const fixture = await openFixture()
    const meter = await openTokenMeter(undefined)
    await meter.spend(limit)
    assert.equal((await fixture.mill.budgets.read('llm')).spent, 0)
    const { classify: ask } = claudeClassifier(fixture.backend.environment)
    assert.ok((await ask({ exercise: '47 + 38', lines: ['58'] })).tokens > 0)
  })
})
