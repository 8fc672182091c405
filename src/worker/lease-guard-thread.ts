/** The thread of a lease guard: looks at the shared table and renews what is about to end. */
import { workerData } from 'node:worker_threads'
import type { LeaseRenewer } from '../backends/backend.ts'
import type { GuardThreadData } from './lease-guard.ts'
import { LeaseTable, monotonicMs } from './lease-table.ts'

/** The event loop renews long before this part of a lease is left. */
const lastPart = 1 / 3

const { store, queues, leaseMsMin, table: shared }: GuardThreadData = workerData
const table = new LeaseTable(shared)

// Loaded now: when a lease is about to end there is no time for it.
const { openRenewer } = await import(store.module)
let renewer: LeaseRenewer | undefined

while (!table.sleep(Math.max(5, leaseMsMin / 12))) {
  try {
    for (const [queue, slots] of endingSoon()) {
      renewer ??= openRenewer(store.options) as LeaseRenewer
      renew(renewer, queue, slots)
    }
  } catch {
    // A store that could not be written is tried again, as long as there is something to keep.
  }
}
renewer?.close()

function endingSoon(): ReadonlyMap<string, readonly number[]> {
  const nowMs = monotonicMs()
  const found = new Map<string, number[]>()
  for (let slot = 0; slot < table.slots; slot += 1) {
    const expiry = table.expiry(slot)
    if (expiry === 0) continue
    const entry = table.read(slot)
    const queue = entry && queues[entry.queue]
    if (entry === undefined || queue === undefined) continue
    if (expiry - nowMs > entry.visibilityMs * lastPart) continue
    found.set(queue, [...(found.get(queue) ?? []), slot])
  }
  return found
}

function renew(store: LeaseRenewer, queue: string, slots: readonly number[]): void {
  const entries = slots.flatMap((slot) => {
    const entry = table.read(slot)
    return entry === undefined ? [] : [{ ...entry, slot }]
  })
  const startedMs = monotonicMs()
  const results = store.extend({ queue, leases: entries })
  for (const [index, { slot, visibilityMs, version }] of entries.entries()) {
    // One that is lost is left to the event loop, which will find out and tell the handler.
    const isKept = results[index]?.status === 'extended'
    const expiryMs = isKept ? startedMs + visibilityMs : Number.POSITIVE_INFINITY
    table.setExpiry(slot, expiryMs, version)
  }
}
