import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, test } from 'vitest'

const module = new URL('./heap-growth.ts', import.meta.url).href

/** Megabytes of the young generation in the end, and of the old one on average. */
interface Sizes {
  readonly young: number
  readonly old: number
}

/**
 * Allocates much, of which a part survives for a while. In a process of its own, since the limits hold for
 * a whole process.
 */
async function sizesUnderLoad(isLimited: boolean, ...options: string[]): Promise<Sizes> {
  const code = `
    import { getHeapSpaceStatistics } from 'node:v8'
    import { limitHeapGrowth } from '${module}'
    let look
    const timers = { after: (delayMs, run) => { look = run } }
    if (${isLimited}) limitHeapGrowth('worker', timers)
    const sizeOf = (name) =>
      getHeapSpaceStatistics().find((one) => one.space_name === name).space_size / 2 ** 20
    const kept = new Array(30_000)
    const olds = []
    for (let count = 0; count < 4_000_000; count++) {
      kept[count % kept.length] = { count, text: new Array(30).fill(count) }
      if (count % 1_000 !== 0) continue
      look?.()
      // Before the first full collections the flag has no effect.
      if (count > 2_000_000) olds.push(sizeOf('old_space'))
    }
    const old = olds.reduce((sum, size) => sum + size) / olds.length
    console.log(JSON.stringify({ young: sizeOf('new_space'), old }))`
  const args = [...options, '--input-type=module', '--eval', code]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

describe('the heap of a worker process', () => {
  test('stops growing when it is large enough', async () => {
    const limited = await sizesUnderLoad(true)
    assert.ok(limited.young >= 8 && limited.young < 16, `${limited.young} MB`)
    // Otherwise nothing was limited. How far it grows depends on the machine.
    const unlimited = await sizesUnderLoad(false)
    assert.ok(unlimited.young > limited.young, `${unlimited.young} MB without the limit`)
  })

  test('has fewer dead objects in it', async () => {
    const limited = await sizesUnderLoad(true)
    const unlimited = await sizesUnderLoad(false, '--max-semi-space-size=8')
    assert.ok(limited.old < unlimited.old, `${limited.old} and ${unlimited.old} MB`)
  })

  test('has the size that the user has chosen', async () => {
    const { young } = await sizesUnderLoad(true, '--max-semi-space-size=16')
    assert.ok(young >= 16, `${young} MB`)
  })
})
