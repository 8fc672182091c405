import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { gate, openScene, started } from '../../test/support/worker-scene.ts'
import { defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'

const concurrency = 4
const count = 200

const app = defineApp('shop', { queues: { basic: jobs({ types: { ORDER: z.number() } }) } })

describe('a worker whose handlers are faster than the settlements', () => {
  test('claims no more than a few jobs that wait for their settlement, and continues later', async () => {
    const store = gate()
    let runs = 0
    const { mill, clock, until } = await openScene(app, {
      wrap: (backend) => ({
        ...backend,
        settle: async (request) => {
          await store.opened
          return backend.settle(request)
        },
      }),
    })
    const payloads = Array.from({ length: count }, (_, payload) => payload)
    const orders = payloads.map((payload) => ({ type: 'ORDER' as const, payload }))
    await mill.jobs.enqueueMany('basic', orders)
    const handle = {
      ORDER: async () => {
        runs += 1
        // Handlers of this length are not claimed ahead.
        await new Promise<void>((resolve) => clock.after(20, resolve))
      },
    }
    started(mill.worker({ poll: ['basic'], concurrency, handle }))
    for (let step = 0; step < 100; step += 1) await clock.advance(20)
    const inSlowTime = Math.ceil(250 / 20) + 2
    assert.ok(runs <= concurrency * inSlowTime, `${runs} jobs were run`)
    const held = runs
    await clock.advance(1_000)
    assert.equal(runs, held)

    store.open()
    for (let step = 0; step < 100; step += 1) await clock.advance(20)
    await until('all are done', async () => {
      const { ready, leased } = await mill.queues.basic.statistics()
      return ready + leased === 0
    })
    assert.equal(runs, count, 'some jobs ran twice')
  })
})
