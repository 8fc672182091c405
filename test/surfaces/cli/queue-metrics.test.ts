/** `millrace queue metrics`, on a store whose clock the test moves. */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { describe, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { assertRefused, type CliScene, cliScene } from './cli-scene.ts'

const minute = 60_000

/** Two minutes before now in which something happened, and one an hour ago. */
async function busyStore(): Promise<CliScene> {
  const scene = await cliScene()
  await mkdir(scene.data)
  const startAt = Math.floor(Date.now() / minute) * minute - 60 * minute
  const ports = virtualPorts(1, { startAt })
  const backend = await openSqlite({ file: `${scene.data}/millrace.db`, ports })
  onTestFinished(() => backend.close())
  await backend.createQueue({ queue: 'orders' })
  for (const [count, restMs] of [
    [1, 57 * minute],
    [2, minute],
    [3, minute],
  ] as const) {
    const messages = Array.from({ length: count }, () => ({ body: 'x' }))
    await backend.send({ queue: 'orders', messages })
    await ports.clock.advance(minute)
    await backend.metrics?.sample()
    await ports.clock.advance(restMs - minute)
  }
  return scene
}

describe('the metrics of a queue', () => {
  test('are a table of the last minutes', async () => {
    const { good } = await busyStore()
    const [head = '', ...lines] = (await good('queue', 'metrics', 'orders')).trimEnd().split('\n')
    assert.match(head, /^MINUTE +SENT +RECEIVED +DELETED/)
    assert.equal(lines.length, 2)
    assert.match(lines[0] ?? '', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}Z +2 +0 +0/)
  })

  test('go back as far as they are asked to, as JSON', async () => {
    const { read } = await busyStore()
    const { queue, minutes } = await read('queue', 'metrics', 'orders', '--last', '2h')
    assert.equal(queue, 'orders')
    assert.deepEqual(
      minutes.map(({ sent, visible }: { sent: number; visible: number }) => [sent, visible]),
      [
        [1, 1],
        [2, 3],
        [3, 6],
      ],
    )
    const [first] = minutes
    assert.match(first.minute, /T\d{2}:\d{2}:00\.000Z$/)
    assert.deepEqual([first.oldest_age_ms, first.handlers], [minute, null])
  })

  test('say so when there are none', async () => {
    const { good, run } = await cliScene()
    await good('queue', 'create', 'quiet')
    const { code, stdout, stderr } = await run('queue', 'metrics', 'quiet')
    assert.deepEqual([code, stdout], [0, ''])
    assert.match(stderr, /No metrics/)
  })

  test('are refused for a queue that is not there, or a span that is none', async () => {
    const { good, run } = await cliScene()
    await good('queue', 'create', 'orders')
    assertRefused(await run('queue', 'metrics', 'order'), 3, /orders/)
    assertRefused(await run('queue', 'metrics', 'orders', '--last', '4d'), 2, /from 1m to 3d/)
  })
})
