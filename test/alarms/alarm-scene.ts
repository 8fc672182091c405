/** An open app whose alarms are watched minute by minute, on a clock that the test moves. */
import assert from 'node:assert/strict'
import type { Delivery } from '../../src/backends/backend.ts'
import type { App } from '../../src/contracts/define-app.ts'
import type { AlarmState } from '../../src/core/alarm-rule.ts'
import { openScene, type WorkerScene } from '../support/worker-scene.ts'

export const second = 1_000
export const minute: number = 60 * second

export interface AlarmScene<Opened extends App> extends WorkerScene<Opened> {
  /** Lets minutes pass, and answers the state of an alarm after the evaluation of each. */
  watch(alarm: string, minutes: number): Promise<readonly AlarmState[]>
  state(alarm: string): Promise<AlarmState>
  /** Sends so many messages to a queue, by its name in the store. */
  fill(queue: string, count: number): Promise<void>
  /** Receives so many messages, for a day. */
  hold(queue: string, count: number): Promise<readonly Delivery[]>
  acknowledge(queue: string, deliveries: readonly Delivery[]): Promise<void>
  /** Receives so many messages and fails with each of them. */
  fail(queue: string, count: number): Promise<void>
}

/** Minutes are evaluated five seconds after they end; so long after that the scene stands. */
const pastEvaluation = 5 * second

/** Begins a few seconds after an evaluation. */
export async function openAlarmScene<const Opened extends App>(
  app: Opened,
): Promise<AlarmScene<Opened>> {
  const scene = await openScene(app)
  const { mill, backend, clock } = scene
  const state = async (alarm: string): Promise<AlarmState> => {
    const record = await mill.alarms.get(alarm)
    assert.ok(record !== undefined, `there is no alarm ${alarm}`)
    return record.state
  }
  const hold = async (queue: string, count: number): Promise<readonly Delivery[]> => {
    const request = { queue, max: count, waitMs: 0, visibilityMs: 12 * 60 * minute }
    const deliveries = await backend.receive(request)
    assert.equal(deliveries.length, count)
    return deliveries
  }
  await clock.advance(minute + 5 * second + pastEvaluation)
  return {
    ...scene,
    state,
    hold,
    async watch(alarm, minutes) {
      const states: AlarmState[] = []
      for (let passed = 0; passed < minutes; passed += 1) {
        await clock.advance(minute)
        states.push(await state(alarm))
      }
      return states
    },
    async fill(queue, count) {
      for (let left = count; left > 0; left -= 1_000) {
        const length = Math.min(left, 1_000)
        const messages = Array.from({ length }, (_, index) => ({ body: `"${index}"` }))
        await backend.send({ queue, messages })
      }
    },
    async acknowledge(queue, deliveries) {
      const settlements = deliveries.map(({ receipt }) => ({
        receipt,
        outcome: { kind: 'acknowledge' } as const,
      }))
      const results = await backend.settle({ queue, settlements })
      assert.ok(results.every(({ status }) => status === 'settled'))
    },
    async fail(queue, count) {
      const settlements = (await hold(queue, count)).map(({ receipt }) => ({
        receipt,
        outcome: { kind: 'retry', delayMs: 0 } as const,
      }))
      const results = await backend.settle({ queue, settlements })
      assert.ok(results.every(({ status }) => status === 'settled'))
    },
  }
}

/** The same state so many times. */
export function times(count: number, state: AlarmState): readonly AlarmState[] {
  return Array.from({ length: count }, () => state)
}
