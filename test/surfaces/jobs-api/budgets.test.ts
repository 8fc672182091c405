import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { open } from '../../../src/index.ts'
import { serve } from '../../../src/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { academy } from './academy.ts'
import { mountAcademy } from './mounted.ts'
import { type Answer, type Call, callApi, keys, type Scene, serveAcademy } from './scene.ts'

const asAdmin = (scene: Pick<Scene, 'call'>, path: string, call: Call = {}): Promise<Answer> =>
  scene.call(path, { key: keys.admin, ...call })

const spend = (scene: Pick<Scene, 'call'>, amount: unknown, budget = 'llm'): Promise<Answer> =>
  scene.call(`/budgets/${budget}/spend`, {
    method: 'POST',
    key: keys.internal,
    body: { amount },
  })

describe('budgets over HTTP', () => {
  test('are spent from, read, reset, and written down', async () => {
    const scene = await serveAcademy()
    const first = await spend(scene, 400)
    assert.equal(first.status, 200, first.text)
    const { ends_at, turned_on, ...budget } = first.body
    assert.equal(turned_on, false)
    assert.match(ends_at, /T00:00:00\.000Z$/)
    assert.deepEqual(budget, {
      ...{ name: 'llm', spent: 400, limit: 1_000, unit: 'tokens', per: '1d', tripped: false },
      ...{ trips: 'LLM_PAUSED', mode: 'hold', scope: 'academy/dev' },
    })
    assert.equal((await spend(scene, 600)).body.turned_on, true)
    const { body: read } = await asAdmin(scene, '/budgets/llm')
    assert.deepEqual([read.spent, read.tripped], [1_000, true])
    assert.deepEqual((await asAdmin(scene, '/budgets')).body, { budgets: [read] })

    const path = '/budgets/llm/reset?note=paid'
    const reset = await asAdmin(scene, path, { method: 'POST' })
    assert.deepEqual([reset.status, reset.body.spent, reset.body.tripped], [200, 0, false])
    assert.deepEqual((await asAdmin(scene, '/switches')).body.switches, [])
    const { body: history } = await asAdmin(scene, '/budgets/llm/resets')
    const [{ at, ...entry }] = history.resets
    assert.match(at, /^\d{4}-.*Z$/)
    assert.deepEqual([entry, history.next], [{ by: 'root', note: 'paid', spent: 1_000 }, null])
  })

  test('that no app declares are not found', async () => {
    const scene = await serveAcademy()
    const answers = [
      await asAdmin(scene, '/budgets/lmm'),
      await asAdmin(scene, '/budgets/lmm/resets'),
      await asAdmin(scene, '/budgets/lmm/reset', { method: 'POST' }),
      await spend(scene, 1, 'lmm'),
    ]
    for (const { status, body } of answers) {
      assert.deepEqual([status, body.code], [404, 'budget_not_found'])
    }
  })

  test.each([[-1], ['5'], [null], [1e16], [undefined]])(
    'refuse the amount %j, and count nothing',
    async (amount) => {
      const scene = await serveAcademy()
      const { status, body } = await spend(scene, amount)
      assert.deepEqual([status, body.errors[0].field], [400, 'amount'])
      assert.equal((await asAdmin(scene, '/budgets/llm')).body.spent, 0)
    },
  )

  test('are served by a mounted API, for its own app', async () => {
    const api = await mountAcademy()
    assert.equal((await spend(api, 3)).body.spent, 3)
    assert.equal((await asAdmin(api, '/budgets/other')).body.code, 'budget_not_found')
  })

  test('are served without the app', async () => {
    const folder = await temporaryFolder('budgets')
    const data = folder.file('data')
    await (await open(academy, { data })).close()
    const server = await serve({ data, port: 0 })
    onTestFinished(async () => {
      await server.stop()
      await folder.remove()
    })
    const { body } = await callApi(server.url, '/budgets', {})
    assert.deepEqual(
      body.budgets.map(({ name, unit }: { name: string; unit: string }) => [name, unit]),
      [['llm', 'tokens']],
    )
    const call = { method: 'POST', body: { amount: 7 } }
    assert.equal((await callApi(server.url, '/budgets/llm/spend', call)).body.spent, 7)
  })
})

describe('what a reported job has spent', () => {
  async function held(): Promise<{
    readonly scene: Scene
    report(kind: string, fields: object): Promise<Answer>
    job(key?: string): Promise<Answer['body']>
  }> {
    const scene = await serveAcademy()
    const id = await scene.enqueue({ owner: 'alice' })
    const { receipt } = await scene.claim()
    return {
      scene,
      report: (kind, fields) => {
        const body = { receipt, ...fields }
        return scene.call(`/jobs/${id}/${kind}`, { method: 'POST', key: keys.worker, body })
      },
      job: async (key = keys.admin) => (await scene.call(`/jobs/${id}`, { key })).body,
    }
  }

  test('is counted with each report, for the job and for the budget', async () => {
    const { scene, report, job } = await held()
    assert.equal((await report('progress', { progress: 0.5, spent: { llm: 200 } })).status, 200)
    assert.equal((await report('complete', { spent: { llm: 30 } })).status, 200)
    assert.equal((await report('complete', { spent: { llm: 30 } })).body.code, 'lease_ended')
    assert.deepEqual((await job()).spent, { llm: 230 })
    assert.equal('spent' in (await job(keys.alice)), false, 'the cost is not for users')
    assert.equal((await asAdmin(scene, '/budgets/llm')).body.spent, 230)
  })

  test('is counted with a failure', async () => {
    const { report, job } = await held()
    const error = { message: 'none' }
    assert.equal((await report('fail', { error, spent: { llm: 5 } })).status, 200)
    assert.deepEqual((await job()).spent, { llm: 5 })
  })

  test.each([
    [{ lmm: 1 }, 404, undefined],
    [{ llm: -1 }, 400, 'spent.llm'],
    [{ llm: '5' }, 400, 'spent.llm'],
    [[5], 400, 'spent'],
    [5, 400, 'spent'],
  ])('is refused with the report: %j', async (spent, code, field) => {
    const { scene, report, job } = await held()
    for (const [kind, fields] of [
      ['progress', { progress: 0.5 }],
      ['complete', {}],
      ['fail', { error: { message: 'none' } }],
    ] as const) {
      const { status, body } = await report(kind, { ...fields, spent })
      assert.deepEqual([status, body.errors?.[0]?.field], [code, field], kind)
    }
    const { status, progress, spent: none } = await job()
    assert.deepEqual([status, progress, none], ['processing', 0, {}])
    assert.equal((await asAdmin(scene, '/budgets/llm')).body.spent, 0)
  })
})
