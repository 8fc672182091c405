/** `millrace metrics`: values of apps and their janitors, as an operator sees them. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { defineApp, open, queue } from '../../../src/index.ts'
import { type CliScene, cliScene } from './cli-scene.ts'

const shop = defineApp('shop', { queues: { orders: queue() } })

async function sceneWithValues(): Promise<CliScene> {
  const scene = await cliScene()
  const mill = await open(shop, { data: scene.data })
  await mill.metrics.put('basket value', 40)
  await mill.metrics.put('basket value', 129.5)
  await mill.metrics.put('janitor_stuck_pending', 2)
  await mill.close()
  return scene
}

describe('millrace metrics', () => {
  test('lists the latest value of each name', async () => {
    const { good } = await sceneWithValues()
    const [head, ...rows] = (await good('metrics', '--prefix', 'shop-dev-')).split('\n')
    assert.match(head ?? '', /^NAME +VALUE +AT +COUNT +SUM$/)
    assert.match(rows[0] ?? '', /^shop-dev-basket value +129\.5 +20\S+Z +2 +169\.5$/)
    assert.ok(rows.some((row) => /^shop-dev-janitor_stuck_pending +2 /.test(row)))
  })

  test('answers JSON, of the names that are asked for', async () => {
    const { read } = await sceneWithValues()
    const { values } = await read('metrics', '--prefix', 'shop-dev-basket')
    const [{ at, ...value }, ...others] = values
    assert.deepEqual(value, { name: 'shop-dev-basket value', value: 129.5, count: 2, sum: 169.5 })
    assert.deepEqual(others, [])
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
  })

  test('says so when there are none', async () => {
    const { run } = await sceneWithValues()
    const { code, stdout, stderr } = await run('metrics', '--prefix', 'other-')
    assert.deepEqual([code, stdout], [0, ''])
    assert.match(stderr, /No values were recorded/)
  })
})
