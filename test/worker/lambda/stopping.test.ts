import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { MillraceError } from '../../../src/core/millrace-error.ts'
import { openLambdaScene } from './lambda-scene.ts'

const second = 1_000

describe('stopping', () => {
  test('takes no more batches and waits for the one that runs', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one')
    await scene.run(scene.set({}, { batchSize: 1 }))
    const told = await scene.began()
    let hasStopped = false
    const stopped = scene.runtime.stop().then(() => {
      hasStopped = true
    })
    await scene.send('two')
    await scene.ports.clock.advance(1 * second)
    assert.equal(hasStopped, false)
    scene.order(told)
    await stopped
    assert.equal(scene.reports[0]?.acknowledged, 1)
    assert.deepEqual(await scene.store.counts('work'), { ready: 1, leased: 0, delayed: 0 })
  })

  test('ends at the timeout of a function that does not end', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one')
    await scene.run(scene.set({ timeoutMs: 5 * second }))
    await scene.began()
    const stopped = scene.runtime.stop()
    await scene.ports.clock.advance(5 * second)
    await stopped
    assert.equal(scene.reports[0]?.status, 'timed_out')
  })

  test('hands back a batch that was collected and not invoked, at no cost of a receive', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one', 'two')
    await scene.run(scene.set({}, { batchingWindowMs: 60 * second }))
    await scene.until('it is collected', async () => {
      return (await scene.store.counts('work')).leased === 2
    })
    await scene.runtime.stop()
    const waiting = await scene.store.peek('work', 'ready')
    assert.deepEqual(
      waiting.map(({ receiveCount }) => receiveCount),
      [0, 0],
    )
    assert.equal(scene.reports.length, 0)
  })

  test('is one promise for all who ask, and leaves no timer behind', async () => {
    const scene = await openLambdaScene()
    await scene.oncePuppet()
    const stopped = scene.runtime.stop()
    assert.equal(scene.runtime.stop(), stopped)
    await stopped
    // The store has timers of its own.
    await scene.store.backend.close()
    assert.equal(scene.ports.clock.pendingTimers, 0)
    await assert.rejects(scene.runtime.start(), /was stopped/)
  })

  test('works for a runtime that was never started', async () => {
    const scene = await openLambdaScene()
    scene.runtime.load(scene.set({}))
    await scene.runtime.stop()
  })
})

describe('a store that fails', () => {
  test('is tried again, later each time, and told of', async () => {
    let failures = 2
    const scene = await openLambdaScene({
      wrap: (backend) => ({
        ...backend,
        receive: (request) => {
          if (failures === 0) return backend.receive(request)
          failures -= 1
          return Promise.reject(new MillraceError('store_busy'))
        },
      }),
    })
    await scene.queue()
    await scene.send('one')
    await scene.run(scene.set({}))
    await scene.ports.clock.advance(250 + 500)
    await scene.began()
    assert.deepEqual(
      scene.log.map(({ message, fields }) => [message, fields['retry_in_ms']]),
      [
        ['receive failed', 250],
        ['receive failed', 500],
      ],
    )
  })

  test('gets the acknowledgement of a batch again, while the leases may live', async () => {
    let failures = 1
    const calls: number[] = []
    const scene = await openLambdaScene({
      wrap: (backend) => ({
        ...backend,
        settle: (request) => {
          calls.push(request.settlements.length)
          if (failures === 0) return backend.settle(request)
          failures -= 1
          return Promise.reject(new MillraceError('store_busy'))
        },
      }),
    })
    await scene.queue()
    await scene.send('one', 'two', 'three')
    await scene.run(scene.set({}))
    scene.order(await scene.began())
    await scene.until('it was tried', () => calls.length === 1)
    await scene.ports.clock.advance(100)
    assert.equal((await scene.ended()).acknowledged, 3)
    assert.equal(calls[0], 3, 'one call for the whole batch')
  })
})

describe('a store that was closed under the runtime', () => {
  test('is not asked again, and stopping still works', async () => {
    const scene = await openLambdaScene()
    await scene.oncePuppet()
    await scene.store.backend.close()
    await scene.ports.clock.advance(60 * second)
    assert.deepEqual(
      scene.log.filter(({ level }) => level === 'warn'),
      [],
    )
    await scene.runtime.stop()
  })
})

describe('somebody who is told of an invocation', () => {
  test('and fails harms neither its messages nor the next one', async () => {
    const scene = await openLambdaScene({
      onInvocation: () => {
        throw new Error('the terminal is gone')
      },
    })
    await scene.queue()
    await scene.send('one')
    await scene.run(scene.set({}))
    scene.order(await scene.began())
    await scene.until('it is told of', () =>
      scene.log.some(({ message }) => message === 'report failed'),
    )
    assert.deepEqual(await scene.store.counts('work'), { ready: 0, leased: 0, delayed: 0 })
    await scene.send('two')
    await scene.began(1)
  })
})

describe('kill switches', () => {
  test('hold what a function would be given, without a receive', async () => {
    const scene = await openLambdaScene({ heldNames: ['LLM_PAUSED'] })
    await scene.queue({ obeys: { queue: ['LLM_PAUSED'], types: {} } })
    await scene.send('one')
    await scene.run(scene.set({}))
    await scene.ports.clock.advance(60 * second)
    assert.equal(scene.begun(), 0)
    assert.equal((await scene.store.peek('work', 'ready'))[0]?.receiveCount, 0)
  })
})
