/** Replaces the policy of a queue with a changed one; undefined removes it. */
import type { ActionContext } from '../action.ts'
import { inTurn } from '../queues/in-turn.ts'

export function changePolicy(
  context: ActionContext,
  change: (policy: string | undefined) => string | undefined,
): Promise<void> {
  const { store } = context
  const { name: queue } = context.queue()
  return inTurn(store, queue, async () => {
    const { settings } = await store.readQueue({ queue })
    const { Policy: before, ...others } = settings.annotations
    const after = change(before)
    const annotations = after === undefined ? others : { ...others, Policy: after }
    await store.changeQueue({ queue, changes: { annotations } })
  })
}
