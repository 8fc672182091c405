import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { Limit, type ReleaseSlot, Slots } from './slots.ts'

const never = new AbortController().signal

/** Asks for slots, and notes in which order they are given. */
class Line {
  readonly given: string[] = []
  readonly back = new Map<string, ReleaseSlot>()
  readonly slots = new Slots()

  ask(name: string, limits: readonly Limit[], signal: AbortSignal = never): Promise<void> {
    return this.slots.acquire(limits, signal).then((release) => {
      if (release === undefined) return
      this.given.push(name)
      this.back.set(name, release)
    })
  }

  async settle(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

describe('slots', () => {
  test('are given while every limit has room', async () => {
    const line = new Line()
    const [one, two] = [new Limit(2), new Limit(1)]
    void line.ask('a', [one, two])
    void line.ask('b', [one, two])
    void line.ask('c', [one])
    await line.settle()
    assert.deepEqual(line.given, ['a', 'c'])
    assert.deepEqual([one.used, two.used], [2, 1])
  })

  test('go to those who wait longest, past those who could not use them', async () => {
    const line = new Line()
    const [shared, small] = [new Limit(2), new Limit(1)]
    void line.ask('a', [shared, small])
    void line.ask('b', [shared])
    for (const name of ['c', 'd']) void line.ask(name, [shared, small])
    void line.ask('e', [shared])
    await line.settle()
    line.back.get('b')?.()
    await line.settle()
    assert.deepEqual(line.given, ['a', 'b', 'e'])
    line.back.get('a')?.()
    await line.settle()
    assert.deepEqual(line.given, ['a', 'b', 'e', 'c'])
  })

  test('are given back once, however often that is said', async () => {
    const line = new Line()
    const limit = new Limit(1)
    void line.ask('a', [limit])
    await line.settle()
    line.back.get('a')?.()
    line.back.get('a')?.()
    assert.equal(limit.used, 0)
  })

  test('are not given to those who have gone', async () => {
    const line = new Line()
    const limit = new Limit(1)
    const leaving = new AbortController()
    void line.ask('a', [limit])
    const gone = line.ask('b', [limit], leaving.signal)
    void line.ask('c', [limit])
    await line.settle()
    leaving.abort()
    await gone
    line.back.get('a')?.()
    await line.settle()
    assert.deepEqual(line.given, ['a', 'c'])
    await line.ask('d', [new Limit(1)], leaving.signal)
    assert.deepEqual(line.given, ['a', 'c'])
  })

  test('follow a limit that changes', async () => {
    const line = new Line()
    const limit = new Limit(0)
    for (const name of ['a', 'b', 'c']) void line.ask(name, [limit])
    await line.settle()
    assert.deepEqual(line.given, [])
    limit.setMax(2)
    line.slots.serve()
    await line.settle()
    assert.deepEqual(line.given, ['a', 'b'])
    limit.setMax(1)
    line.back.get('a')?.()
    await line.settle()
    assert.deepEqual(line.given, ['a', 'b'])
  })
})
