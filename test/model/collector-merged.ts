import assert from 'node:assert/strict'
import type { Backend } from '../../src/backends/backend.ts'
import type { ModelItem } from './collector-model.ts'

const queue = 'merged'

/** Each item that was accepted stands in exactly one merged message, in order inside. */
export async function assertMergedOnce(
  backend: Backend,
  items: readonly ModelItem[],
): Promise<void> {
  const byBody = new Map(items.map((item) => [item.body, item]))
  const bodies: string[] = []
  for (;;) {
    const deliveries = await backend.receive({ queue, max: 100, waitMs: 0 })
    if (deliveries.length === 0) break
    for (const { body } of deliveries) {
      const merged: readonly string[] = JSON.parse(body)
      const orders = merged.map((one) => byBody.get(one)?.order ?? Number.NaN)
      assert.deepEqual(orders, orders.toSorted(numerically), 'J4: order')
      bodies.push(...merged)
    }
    const settlements = deliveries.map(({ receipt }) => ({
      receipt,
      outcome: { kind: 'acknowledge' } as const,
    }))
    await backend.settle({ queue, settlements })
  }
  assert.deepEqual(bodies.toSorted(), [...byBody.keys()].toSorted(), 'J4: each item once')
}

export function bodyOf({ body }: Pick<ModelItem, 'body'>): string {
  return body
}

function numerically(one: number, other: number): number {
  return one - other
}
