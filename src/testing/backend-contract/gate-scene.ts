/** What the contract tests about ceilings, kill switches and budgets have in common. */
import assert from 'node:assert/strict'
import type { Delivery, NewMessage, Page, QueueSettings, Receive } from '../../backends/backend.ts'
import type {
  SetSwitch,
  SwitchRecord,
  SwitchScope,
  SwitchStore,
} from '../../backends/switch-store.ts'
import { type Ceilings, defaultQueueSettings } from '../../core/queue-settings.ts'
import type { Scene } from './scene.ts'

/** The settings of a queue with these ceilings and no others. */
export function ceilings(changes: Partial<Ceilings>): Pick<QueueSettings, 'ceilings'> {
  return { ceilings: { ...defaultQueueSettings.ceilings, ...changes } }
}

export function switchesOf({ backend }: Scene): SwitchStore {
  assert.ok(backend.switches !== null)
  return backend.switches
}

export function turnOn(
  scene: Scene,
  scope: SwitchScope,
  value: string,
  options: Partial<SetSwitch> = {},
): Promise<SwitchRecord> {
  return switchesOf(scene).set({ scope, value, mode: 'hold', by: 'anna', ...options })
}

export async function lift(scene: Scene, scope: SwitchScope, value: string): Promise<void> {
  assert.equal(await switchesOf(scene).lift({ scope, value, by: 'anna' }), true)
}

export function ofTenant(tenant: string, ...bodies: readonly string[]): readonly NewMessage[] {
  return bodies.map((body) => ({ body, group: tenant }))
}

/** Receives and acknowledges until the queue is empty; returns what was received, in order. */
export async function drain(
  scene: Scene,
  queue: string,
  options: Partial<Receive> = {},
): Promise<string[]> {
  const bodies: string[] = []
  let deliveries = await scene.receive(queue, options)
  while (deliveries.length > 0) {
    for (const { body, receipt } of deliveries) {
      bodies.push(body)
      await scene.acknowledge(queue, receipt)
    }
    deliveries = await scene.receive(queue, options)
  }
  return bodies
}

/** How many receives it takes to get one message: each may pass over a limited number of others. */
export async function receiveWithin(
  scene: Scene,
  queue: string,
  receivesMax: number,
): Promise<Delivery> {
  for (let receives = 0; receives < receivesMax; receives += 1) {
    const [delivery] = await scene.receive(queue, { max: 1 })
    if (delivery !== undefined) return delivery
  }
  assert.fail(`${receivesMax} receives found nothing`)
}

/** Sends so many messages, in calls of a thousand. */
export async function sendMany(
  scene: Scene,
  queue: string,
  count: number,
  message: (index: number) => NewMessage,
): Promise<void> {
  const messages = Array.from({ length: count }, (_, index) => message(index))
  for (let first = 0; first < count; first += 1_000) {
    await scene.send(queue, ...messages.slice(first, first + 1_000))
  }
}

/** All items of all pages. */
export async function everyPage<T>(
  read: (after: { readonly after?: string }) => Promise<Page<T>>,
): Promise<readonly T[]> {
  const items: T[] = []
  let page = await read({})
  items.push(...page.items)
  while (page.next !== undefined) {
    page = await read({ after: page.next })
    items.push(...page.items)
  }
  return items
}
