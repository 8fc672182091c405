/** The budget of the model: functions report tokens, and the one that reaches the limit trips LLM_PAUSED. */
import assert from 'node:assert/strict'
import { open } from 'millrace'
import { describe, test } from 'vitest'
import { tutoring } from '../backend/app.ts'
import { llmClassifierWorker } from '../backend/handlers/llm-classifier-worker.ts'
import { claudeClassifier } from '../backend/services/claude-classifier.ts'
import { openTokenMeter } from '../backend/services/llm-budget.ts'
import { failed, openScene, type Scene } from './scene.ts'

const limit = tutoring.budgets?.['llm']?.limit ?? 0

/** Classifies one attempt as the function does, and reports its tokens to the budget of the app. */
async function classify(scene: Scene, line: string): Promise<readonly string[]> {
  const { attempt, take, classifying, mill } = scene
  await attempt(line)
  const meter = { spend: async (tokens: number) => void (await mill.budgets.spend('llm', tokens)) }
  const worker = llmClassifierWorker({ ...classifying, meter, isPaused: false })
  return failed(await worker(await take('SQS_LLM_CLASSIFY_URL')))
}

describe('the budget of the model', () => {
  test('counts what questions and answers cost, and nothing is paused before it is spent', async () => {
    const scene = await openScene()
    assert.deepEqual(await classify(scene, '58'), [])
    const { spent, tripped } = await scene.mill.budgets.state('llm')
    assert.ok(spent > 100 && spent < 2_000, `${spent} tokens`)
    assert.equal(tripped, false)
    assert.deepEqual(await scene.mill.switches.list(), [])
  })

  test('diverts what needs the model once it is spent, and goes on when the switch is lifted', async () => {
    const scene = await openScene()
    const { mill, take, claude, attempt } = scene
    const { llmClassifyQueue, llmClassifyDlq, exerciseGenerateQueue } = mill.queues
    await mill.budgets.spend('llm', limit - 1)
    assert.deepEqual(await classify(scene, '58'), [])
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
    const redrive = await llmClassifyQueue.deadLetters?.redrive()
    assert.equal((await redrive?.finished())?.moved, 1)
    assert.equal((await take('SQS_LLM_CLASSIFY_URL')).Records.length, 1)
    // It is spent, and said so; lifting the switch is the decision to spend more.
    assert.equal((await mill.budgets.state('llm')).tripped, true)
    assert.deepEqual(await mill.switches.list(), [])
  })

  test('is one budget for all functions: each opens the store that it is told', async () => {
    const scene = await openScene()
    const { folder } = scene
    await using other = await open(tutoring, { data: folder, onNotice: () => undefined })
    const meter = await openTokenMeter(folder)
    await meter.spend(7)
    await other.budgets.spend('llm', 5)
    assert.equal((await scene.mill.budgets.state('llm')).spent, 12)
    await meter.close()
  })

  test('is not asked for where there is no store: nothing is counted', async () => {
    const scene = await openScene()
    const meter = await openTokenMeter(undefined)
    await meter.spend(limit)
    assert.equal((await scene.mill.budgets.state('llm')).spent, 0)
    const { classify: ask } = claudeClassifier(scene.backend.environment)
    assert.ok((await ask({ exercise: '47 + 38', lines: ['58'] })).tokens > 0)
  })
})
