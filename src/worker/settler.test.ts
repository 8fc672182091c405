import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Settle, SettleResult } from '../backends/backend.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { virtualPorts } from '../testing/virtual-clock.ts'
import { Settler } from './settler.ts'

const settled: SettleResult = { status: 'settled', emitted: [], enqueued: [] }
const settlement = (receipt: string): Settle['settlements'][number] => ({
  receipt,
  outcome: { kind: 'acknowledge' },
})

type Answer = (request: Settle, call: number) => Promise<readonly SettleResult[]>

const allSettled: Answer = async ({ settlements }) => settlements.map(() => settled)

function settling(answer: Answer = allSettled) {
  const calls: Settle[] = []
  const ports = virtualPorts()
  const backend = {
    settle: (request: Settle) => {
      calls.push(request)
      return answer(request, calls.length)
    },
  }
  const troubles: (readonly [queue: string, retryInMs: number])[] = []
  const onRetry = (queue: string, _error: unknown, retryInMs: number): void => {
    troubles.push([queue, retryInMs])
  }
  const settler = new Settler({ backend, ports, onRetry })
  return { calls, clock: ports.clock, settler, troubles }
}

const always = (): boolean => true

describe('settlements', () => {
  test('of one turn of the event loop share a call for each queue', async () => {
    const { settler, calls } = settling()
    const all = ['a', 'b', 'c'].map((receipt) =>
      settler.settle('jobs', settlement(receipt), always),
    )
    all.push(settler.settle('mail', settlement('d'), always))
    assert.deepEqual(await Promise.all(all), [settled, settled, settled, settled])
    await settler.settle('jobs', settlement('e'), always)
    assert.deepEqual(
      calls.map(({ queue, settlements }) => [queue, settlements.map(({ receipt }) => receipt)]),
      [
        ['jobs', ['a', 'b', 'c']],
        ['mail', ['d']],
        ['jobs', ['e']],
      ],
    )
  })

  test('of a batch have a call of their own, and fail one by one', async () => {
    const { settler, calls, clock } = settling(async ({ settlements }, call) => {
      const full: SettleResult = { status: 'refused', error: new MillraceError('store_full') }
      return settlements.map(({ receipt }) => (call === 1 && receipt === 'b' ? full : settled))
    })
    const other = settler.settle('jobs', settlement('x'), always)
    const batch = settler.settleTogether('jobs', ['a', 'b', 'c'].map(settlement), always)
    assert.deepEqual(await Promise.all([batch[0], batch[2], other]), [settled, settled, settled])
    await clock.advance(100)
    assert.deepEqual(await batch[1], settled)
    assert.deepEqual(
      calls.map(({ settlements }) => settlements.map(({ receipt }) => receipt)),
      [['a', 'b', 'c'], ['x'], ['b']],
    )
  })

  test('of a batch are not retried when it is not worthwhile', async () => {
    const { settler, calls } = settling(async () => {
      throw new MillraceError('store_busy')
    })
    const batch = settler.settleTogether('jobs', [settlement('a')], () => false)
    await assert.rejects(Promise.all(batch), { code: 'store_busy' })
    assert.equal(calls.length, 1)
  })

  test('are at most a thousand in one call', async () => {
    const { settler, calls } = settling()
    const all = Array.from({ length: 2_001 }, (_, index) =>
      settler.settle('jobs', settlement(String(index)), always),
    )
    await Promise.all(all)
    assert.deepEqual(
      calls.map(({ settlements }) => settlements.length),
      [1_000, 1_000, 1],
    )
  })

  test('have an answer each, in their order', async () => {
    const { settler } = settling(async () => [settled, { status: 'gone' }, { status: 'stale' }])
    const all = ['a', 'b', 'c'].map((receipt) =>
      settler.settle('jobs', settlement(receipt), always),
    )
    const answers = await Promise.all(all)
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['settled', 'gone', 'stale'],
    )
  })

  test('are repeated while the store fails, with longer pauses, and are then settled', async () => {
    const { settler, calls, clock, troubles } = settling((request, call) =>
      call < 8 ? Promise.reject(new MillraceError('store_busy')) : allSettled(request, call),
    )
    const times: number[] = []
    const answer = settler.settle('jobs', settlement('a'), () => times.push(clock.monotonic()) > 0)
    await clock.advance(10_000)
    assert.deepEqual(await answer, settled)
    assert.equal(calls.length, 8)
    assert.deepEqual(
      times.slice(1).map((at, index) => at - (times[index] ?? 0)),
      [50, 100, 200, 400, 800, 1_000],
    )
    const pauses = [50, 100, 200, 400, 800, 1_000, 1_000]
    assert.deepEqual(
      troubles,
      pauses.map((ms) => ['jobs', ms]),
    )
  })

  test('are repeated one by one when the disk was too full for one of them', async () => {
    const full = { status: 'refused', error: new MillraceError('store_full') } as const
    const { settler, calls, clock } = settling(async (request, call) =>
      call === 1 ? [full, settled] : allSettled(request, call),
    )
    const all = ['a', 'b'].map((receipt) => settler.settle('jobs', settlement(receipt), always))
    await clock.advance(1_000)
    assert.deepEqual(await Promise.all(all), [settled, settled])
    assert.deepEqual(
      calls.map(({ settlements }) => settlements.map(({ receipt }) => receipt)),
      [['a', 'b'], ['a']],
    )
  })

  test('are abandoned when the lease has expired', async () => {
    const { settler, calls, clock } = settling(() =>
      Promise.reject(new MillraceError('store_failed')),
    )
    const answer = settler.settle('jobs', settlement('a'), () => clock.monotonic() < 1_000)
    answer.catch(() => undefined)
    await clock.advance(5_000)
    await assert.rejects(answer, { code: 'store_failed' })
    const before = calls.length
    await clock.advance(60_000)
    assert.equal(calls.length, before)
  })

  test('are not repeated when the store will never take them', async () => {
    for (const error of [new MillraceError('store_closed'), new TypeError('a defect')]) {
      const { settler, calls } = settling(() => Promise.reject(error))
      const all = ['a', 'b'].map((receipt) => settler.settle('jobs', settlement(receipt), always))
      const ends = await Promise.allSettled(all)
      assert.deepEqual(
        ends.map((end) => end.status === 'rejected' && end.reason),
        [error, error],
      )
      assert.equal(calls.length, 1)
    }
  })

  test('that a backend does not answer are a failure of that backend', async () => {
    const { settler } = settling(async () => [settled])
    const all = ['a', 'b'].map((receipt) =>
      settler.settle('jobs', settlement(receipt), () => false),
    )
    const [first, second] = await Promise.allSettled(all)
    assert.equal(first?.status, 'fulfilled')
    assert.equal(second?.status === 'rejected' && second.reason.code, 'store_failed')
  })
})
