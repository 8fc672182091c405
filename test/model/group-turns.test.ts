/**
 * Whose turn it is among FIFO groups must not depend on when a store noticed that time has passed:
 * the model notices at once, an engine when somebody receives.
 */
import { describe, test } from 'vitest'
import type { Command, Settings } from './commands.ts'
import { runAgainstModel } from './engine-run.ts'
import { sqliteEngine } from './sqlite-engine.ts'

const queue = 'f.fifo'

function change(settings: Settings): Command {
  return { kind: 'change', queue, settings }
}

function send(group: string, deduplicationId: string): Command {
  const message = { body: 'x', group, deduplicationId, delayMs: undefined, flaw: 'none' } as const
  return { kind: 'send', queue, messages: [message], allOrNothing: false }
}

function sendDelayed(group: string, deduplicationId: string, delayMs: number): readonly Command[] {
  return [change({ delayMs }), send(group, deduplicationId), change({ delayMs: 0 })]
}

function receive(visibilityMs: number): Command {
  return { kind: 'receive', queue, max: 1, visibilityMs, attemptId: undefined }
}

function advance(ms: number): Command {
  return { kind: 'advance', ms }
}

async function run(...commands: readonly (Command | readonly Command[])[]): Promise<void> {
  const engine = await sqliteEngine()
  const forAMinute = change({ retentionMs: 60_000, deadLetter: null })
  await runAgainstModel(engine, [forAMinute, ...commands.flat()])
  await engine.close()
  await engine.remove()
}

describe('a group that came back from a lease waits its turn', () => {
  /** The first message of g1 comes back after 1 s and is then taken for longer than it lives. */
  const returnAndLeaseAgain = [receive(1_000), advance(1_000), receive(90_000)]

  test('when its message expires after a delayed one has become ready', async () => {
    await run(
      [send('g1', '1'), advance(57_500), ...sendDelayed('g1', '2', 2_000)],
      [...returnAndLeaseAgain, send('g2', '3')],
      [advance(3_000), receive(10_000)],
    )
  })

  test('when its message expires before a delayed one becomes ready', async () => {
    await run(
      [send('g1', '1'), advance(58_000), ...sendDelayed('g1', '2', 4_000)],
      [...returnAndLeaseAgain, send('g2', '3')],
      [advance(2_000), advance(2_000), receive(10_000)],
    )
  })

  test('when its lease and its retention ended without anybody looking in between', async () => {
    await run(
      [send('g1', '1'), advance(57_000), send('g1', '2')],
      [receive(2_000), advance(1_000), send('g2', '3')],
      [advance(1_500), advance(1_500), receive(10_000)],
    )
  })

  test('when the retention is shortened after its lease ended', async () => {
    await run(
      [change({ retentionMs: 600_000 }), send('g1', '1'), advance(70_000), send('g1', '2')],
      [receive(2_000), advance(1_000), send('g2', '3')],
      [advance(1_500), change({ retentionMs: 60_000 }), receive(10_000)],
    )
  })

  test('but not with what was sent since', async () => {
    await run(
      [send('g1', '1'), receive(1_000), advance(1_000), receive(10_000)],
      [
        {
          kind: 'settle',
          settlements: [{ receipt: 0, outcome: { kind: 'acknowledge' }, emits: [] }],
        },
      ],
      [send('g1', '2'), send('g2', '3'), receive(10_000)],
    )
  })
})
