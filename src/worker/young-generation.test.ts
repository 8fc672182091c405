import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, test } from 'vitest'

const module = new URL('./young-generation.ts', import.meta.url).href

/**
 * Megabytes of the young generation after much allocation, of which a part survives. In a process of its
 * own, since the limit holds for a whole process.
 */
async function megabytesAfterLoad(isLimited: boolean, ...options: string[]): Promise<number> {
  const code = `
    import { getHeapSpaceStatistics } from 'node:v8'
    import { limitYoungGeneration } from '${module}'
    let look
    const timers = { after: (delayMs, run) => { look = run } }
    if (${isLimited}) limitYoungGeneration(timers)
    const kept = new Array(10_000)
    for (let count = 0; count < 1_500_000; count++) {
      kept[count % kept.length] = { count, text: new Array(30).fill(count) }
      if (count % 1_000 === 0) look?.()
    }
    const space = getHeapSpaceStatistics().find((one) => one.space_name === 'new_space')
    console.log(space.space_size / 2 ** 20)`
  const args = [...options, '--input-type=module', '--eval', code]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return Number(stdout)
}

describe('the young generation of a worker process', () => {
  test('stops growing when it is large enough', async () => {
    const limited = await megabytesAfterLoad(true)
    assert.ok(limited >= 8 && limited < 16, `${limited} MB`)
    // Otherwise nothing was limited. How far it grows depends on the machine.
    const unlimited = await megabytesAfterLoad(false)
    assert.ok(unlimited > limited, `${unlimited} MB without the limit`)
  })

  test('has the size that the user has chosen', async () => {
    const chosen = await megabytesAfterLoad(true, '--max-semi-space-size=16')
    assert.ok(chosen >= 16, `${chosen} MB`)
  })
})
