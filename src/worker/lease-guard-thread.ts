/**
 * The thread of a lease guard. It renews leases of running handlers that are about to expire. It releases
 * leases that wait behind a handler that blocks the event loop.
 */
import { workerData } from 'node:worker_threads'
import type { LeaseRenewer } from '../backends/backend.ts'
import type { GuardThreadData } from './lease-guard.ts'
import { LeaseTable, monotonicMs } from './lease-table.ts'

/** The event loop renews long before only this part of a lease is left. */
const lastPart = 1 / 3

/** Unless blocked, the event loop starts or releases a waiting lease sooner than this, also after a slow claim. */
const waitMsMax = 100

/** The longest time between two checks of the table. */
const lookMsMax = 50

const { store, queues, leaseMsMin, table: shared }: GuardThreadData = workerData
const table = new LeaseTable(shared)

void guard()

async function guard(): Promise<void> {
  // Loaded now, because there is no time for it when a lease is about to expire.
  const { openRenewer } = await import(store.module)
  let opened: LeaseRenewer | undefined
  const renewer = (): LeaseRenewer => {
    opened ??= openRenewer(store.options) as LeaseRenewer
    return opened
  }
  try {
    await renewer().open()
  } catch {
    // A store that cannot be reached now is tried again when there is something to do.
  }
  // What was taken is released before the thread ends.
  while (!table.sleep(Math.min(lookMsMax, Math.max(5, leaseMsMin / 12)))) {
    try {
      const stuck = [...byQueue(isStuck)].map(([queue, slots]) => taken(queue, slots))
      await Promise.allSettled(stuck.map((leases) => releaseAll(renewer(), leases)))
      for (const [queue, slots] of byQueue(isEndingSoon)) await renew(renewer(), queue, slots)
    } catch {
      // A failed write is retried as long as there are leases to keep.
    }
  }
  await opened?.close()
}

function isEndingSoon(slot: number, leftMs: number, visibilityMs: number): boolean {
  return !table.isWaiting(slot) && leftMs <= visibilityMs * lastPart
}

function isStuck(slot: number, leftMs: number, visibilityMs: number): boolean {
  return table.isWaiting(slot) && visibilityMs - leftMs > waitMsMax
}

function byQueue(
  concerns: (slot: number, leftMs: number, visibilityMs: number) => boolean,
): ReadonlyMap<string, readonly number[]> {
  const nowMs = monotonicMs()
  const found = new Map<string, number[]>()
  for (let slot = 0; slot < table.slots; slot += 1) {
    const expiry = table.expiry(slot)
    if (expiry === 0 || !concerns(slot, expiry - nowMs, table.visibilityMs(slot))) continue
    const queue = queues[table.queue(slot)]
    if (queue === undefined) continue
    const slots = found.get(queue)
    if (slots === undefined) found.set(queue, [slot])
    else slots.push(slot)
  }
  return found
}

interface TakenLeases {
  readonly queue: string
  readonly slots: readonly number[]
  readonly receipts: readonly string[]
}

/** Takes leases from the event loop, to release them. */
function taken(queue: string, slots: readonly number[]): TakenLeases {
  const entries = slots.flatMap((slot) => {
    const entry = table.read(slot)
    if (entry === undefined || !table.release(slot)) return []
    // The event loop may have dropped it since; it leaves the release to this thread.
    if (table.version(slot) === entry.version) return [{ slot, receipt: entry.receipt }]
    // The event loop has put another lease here in the meantime.
    table.keepWaiting(slot)
    return []
  })
  return {
    queue,
    slots: entries.map(({ slot }) => slot),
    receipts: entries.map(({ receipt }) => receipt),
  }
}

async function releaseAll(
  store: LeaseRenewer,
  { queue, slots, receipts }: TakenLeases,
): Promise<void> {
  if (receipts.length === 0) return
  try {
    await store.release({ queue, receipts })
  } catch (error) {
    for (const slot of slots) table.keepWaiting(slot)
    throw error
  }
}

async function renew(store: LeaseRenewer, queue: string, slots: readonly number[]): Promise<void> {
  const entries = slots.flatMap((slot) => {
    const entry = table.read(slot)
    // The event loop may have put a lease of another queue here in the meantime.
    return entry === undefined || queues[entry.queue] !== queue ? [] : [{ ...entry, slot }]
  })
  if (entries.length === 0) return
  const startedMs = monotonicMs()
  const results = await store.extend({
    queue,
    leases: entries.map(({ receipt, visibilityMs }) => ({ receipt, visibilityMs })),
  })
  for (const [index, { slot, visibilityMs, version }] of entries.entries()) {
    // Leave a lost lease to the event loop, which will notice and abort the handler.
    const isKept = results[index]?.status === 'extended'
    const expiryMs = isKept ? startedMs + visibilityMs : Number.POSITIVE_INFINITY
    table.setExpiry(slot, expiryMs, version)
  }
}
