/** What the contract tests about handoff have in common. */
import assert from 'node:assert/strict'
import type {
  ClaimInboxItem,
  InboxEvent,
  InboxItemRecord,
  InboxStore,
  ListInboxItems,
} from '../../backends/inbox-store.ts'
import { hour, type Scene } from './scene.ts'

export function inboxesOf({ backend }: Scene): InboxStore {
  assert.ok(backend.inboxes !== null)
  return backend.inboxes
}

/** An inbox as people have it: an hour for each claim, and no dead letters. */
export async function createInbox(scene: Scene, ...bodies: readonly string[]): Promise<string[]> {
  await scene.queue('inbox', { visibilityMs: hour })
  return bodies.length === 0 ? [] : scene.send('inbox', ...bodies)
}

/** Claims what must be there to claim. */
export async function claim(
  scene: Scene,
  by: string,
  options: Partial<ClaimInboxItem> = {},
): Promise<InboxItemRecord> {
  const result = await inboxesOf(scene).claim({ queue: 'inbox', by, ...options })
  assert.equal(result.status, 'claimed')
  return result.item
}

/** Bodies with who has each of them. */
export async function listedItems(
  scene: Scene,
  options: Partial<ListInboxItems> = {},
): Promise<readonly (readonly [string, string | null])[]> {
  const { items } = await inboxesOf(scene).list({ queue: 'inbox', limit: 100, ...options })
  return items.map(({ message, state, claim: held }) => [
    message.body,
    state === 'leased' ? 'leased' : (held?.by ?? null),
  ])
}

export function historyOf(
  scene: Scene,
  id: string,
  queue = 'inbox',
): Promise<readonly InboxEvent[]> {
  return inboxesOf(scene).history({ queue, id })
}

/** What happened, and who did it. */
export async function eventsOf(
  scene: Scene,
  id: string,
  queue = 'inbox',
): Promise<readonly (readonly [string, string])[]> {
  return (await historyOf(scene, id, queue)).map(({ event, by }) => [event, by])
}
