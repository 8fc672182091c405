import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { virtualPorts } from '../testing/virtual-clock.ts'
import type { Claimed } from './claims-ahead.ts'
import { OpenBatches } from './open-batches.ts'
import type { Source, Work } from './source.ts'

/** Only these parts of a source are read. */
function sourceOf(sizes: readonly (number | undefined)[], { isFifo = false } = {}): Source {
  const works = sizes.map((size) => {
    return { batch: size === undefined ? undefined : { size, windowMs: 60_000, run: () => 1 } }
  })
  return { works, isFifo, state: 'ready' } as unknown as Source
}

function scene(source: Source) {
  const ran: number[] = []
  const batches = new OpenBatches({
    timers: virtualPorts().timers,
    run: (items) => ran.push(items.length),
  })
  /** Adds items of a type, and returns the slots that they needed. */
  const add = (type: number, count: number): number => {
    const work = source.works[type] as Work
    let slots = 0
    for (let one = 0; one < count; one += 1) {
      if (work.batch === undefined) slots += 1
      else slots += batches.add({ source } as Claimed, work, work.batch) ? 1 : 0
    }
    return slots
  }
  return { ran, batches, add }
}

describe('the room for a claim', () => {
  test.each([
    ['one type, one slot', [100], 1, 100],
    ['one type, three slots', [100], 3, 300],
    ['no more than one call may return', [1_000], 3, 1_000],
    ['two types may each need a slot', [100, 100], 1, 1],
    ['two types, two slots', [100, 100], 2, 101],
    ['two types, three slots', [100, 10], 3, 21],
    ['a type of single jobs may need every slot', [100, undefined], 5, 5],
    ['no slot', [100], 0, 0],
  ] as const)('%s', (_, sizes, slots, room) => {
    const { batches } = scene(sourceOf(sizes))
    assert.equal(batches.room(sourceOf(sizes), slots), room)
  })

  test('includes what open batches still take', () => {
    const source = sourceOf([10, 5])
    const { batches, add } = scene(source)
    add(0, 3)
    assert.equal(batches.room(source, 0), 0)
    add(1, 1)
    assert.equal(batches.room(source, 0), 4)
    assert.equal(batches.room(source, 1), 9)
  })

  test('of a FIFO queue is that of one batch', () => {
    const source = sourceOf([10], { isFifo: true })
    const { batches, add } = scene(source)
    assert.deepEqual([batches.room(source, 0), batches.room(source, 3)], [0, 10])
    add(0, 4)
    assert.deepEqual([batches.room(source, 0), batches.room(source, 3)], [6, 6])
  })

  test('is never more than fits, and one more might not fit', () => {
    const random = virtualPorts(7).randomness
    const upTo = (max: number): number => Math.floor(random.next() * (max + 1))
    for (let round = 0; round < 2_000; round += 1) {
      const sizes = Array.from({ length: 1 + upTo(2) }, () =>
        upTo(3) === 0 ? undefined : 1 + upTo(4),
      )
      const source = sourceOf(sizes)
      const { batches, add } = scene(source)
      for (const [type, size] of sizes.entries()) if (size !== undefined) add(type, upTo(size - 1))
      const slots = upTo(4)
      const room = batches.room(source, slots)
      let used = 0
      for (let one = 0; one < room; one += 1) used += add(upTo(sizes.length - 1), 1)
      assert.ok(used <= slots, `${sizes.join()} with ${slots} slots: ${room} needed ${used}`)
    }
  })
})

describe('a batch', () => {
  test('runs when it is full, and the next one opens', () => {
    const source = sourceOf([3])
    const { ran, add, batches } = scene(source)
    assert.equal(add(0, 7), 3)
    assert.deepEqual(ran, [3, 3])
    assert.deepEqual(
      batches.clear().map(({ length }) => length),
      [1],
    )
  })
})
