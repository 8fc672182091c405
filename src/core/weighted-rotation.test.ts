import { assert, describe, it } from 'vitest'
import { WeightedRotation } from './weighted-rotation.ts'

describe('a weighted rotation', () => {
  const turns = (
    count: number,
    members: readonly { name: string; weight: number }[],
    rotation = new WeightedRotation<{ name: string; weight: number }>(),
  ): string => Array.from({ length: count }, () => rotation.next(members)?.name).join('')

  it('spreads the turns of the heavier member instead of bunching them', () => {
    const members = [
      { name: 'a', weight: 3 },
      { name: 'b', weight: 1 },
    ]
    assert.equal(turns(8, members), 'aabaaaba')
  })

  it('gives equal members equal turns', () => {
    const members = ['a', 'b', 'c'].map((name) => ({ name, weight: 1 }))
    assert.equal(turns(6, members), 'abcabc')
  })

  it('gives all turns to the only one that is willing, and makes up for none afterwards', () => {
    const rotation = new WeightedRotation<{ name: string; weight: number }>()
    const a = { name: 'a', weight: 3 }
    const b = { name: 'b', weight: 1 }
    turns(5, [a, b], rotation)
    rotation.leave(a)
    assert.equal(turns(20, [b], rotation), 'b'.repeat(20))
    const after = turns(400, [a, b], rotation)
    assert.closeTo([...after].filter((name) => name === 'a').length, 300, 2)
  })

  it('follows weights that change while it runs', () => {
    const a = { name: 'a', weight: 1 }
    const b = { name: 'b', weight: 1 }
    const rotation = new WeightedRotation<{ name: string; weight: number }>()
    turns(10, [a, b], rotation)
    a.weight = 9
    const after = turns(100, [a, b], rotation)
    assert.closeTo([...after].filter((name) => name === 'a').length, 90, 1)
  })

  it('returns none when none is willing', () => {
    assert.isUndefined(new WeightedRotation().next([]))
  })
})
