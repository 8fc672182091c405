/** Messages of many conversations, sent at planned times whatever the speed of the store. */
import type { BenchMill } from './app.ts'

export interface Plan {
  readonly conversations: number
  readonly messagesMax: number
  readonly lastsMs: number
}

export interface Planned {
  readonly conversation: string
  readonly sid: number
  /** Milliseconds after the start. */
  readonly at: number
}

/** 1 to `messagesMax` messages per conversation, at random times. */
export function plan({ conversations, messagesMax, lastsMs }: Plan): readonly Planned[] {
  const all: Planned[] = []
  for (let index = 0; index < conversations; index += 1) {
    const count = 1 + Math.floor(Math.random() * messagesMax)
    for (let message = 0; message < count; message += 1) {
      const at = Math.floor(Math.random() * lastsMs)
      all.push({ conversation: `conversation-${index}`, sid: all.length, at })
    }
  }
  return all.toSorted((one, other) => one.at - other.at)
}

export interface Sent {
  /** By sid: when it was added, by the wall clock. */
  readonly addedAt: ReadonlyMap<number, number>
  /** Milliseconds that each add took. */
  readonly tookMs: readonly number[]
}

const tickMs = 5
const text = 'm'.repeat(100)

/** An open loop: a slow store does not delay the next messages. */
export async function sendAll({ collectors }: BenchMill, all: readonly Planned[]): Promise<Sent> {
  const addedAt = new Map<number, number>()
  const tookMs: number[] = []
  const adding: Promise<void>[] = []
  const startedMs = performance.now()
  const add = async (message: Planned): Promise<void> => {
    addedAt.set(message.sid, Date.now())
    const beganMs = performance.now()
    await collectors.talks.add({ ...message, text })
    tookMs.push(performance.now() - beganMs)
  }
  for (let sent = 0; sent < all.length; ) {
    const untilMs = performance.now() - startedMs
    for (let next = all[sent]; next !== undefined && next.at <= untilMs; next = all[sent]) {
      adding.push(add(next))
      sent += 1
    }
    await new Promise((resolve) => setTimeout(resolve, tickMs))
  }
  await Promise.all(adding)
  return { addedAt, tookMs }
}

export interface Received {
  readonly payloads: number
  /** By sid: when its payload was sent to its queue, by the wall clock. */
  readonly mergedAt: ReadonlyMap<number, number>
  /** By sid: when a consumer received its payload. */
  readonly arrivedAt: ReadonlyMap<number, number>
  /** The first message of each payload, which opened the window. */
  readonly firsts: readonly number[]
  /** Messages that were received more than once. */
  readonly repeated: number
  /** Payloads with messages out of order. */
  readonly disordered: number
}

/** Receives payloads until every message has arrived, or none has for too long. */
export async function receiveAll(
  { queues }: BenchMill,
  all: readonly Planned[],
  patienceMs: number,
): Promise<Received> {
  const mergedAt = new Map<number, number>()
  const arrivedAt = new Map<number, number>()
  const times = new Map(all.map(({ sid, at }) => [sid, at]))
  const firsts: number[] = []
  const acknowledged: Promise<unknown>[] = []
  let payloads = 0
  let repeated = 0
  let disordered = 0
  let lastMs = performance.now()
  while (arrivedAt.size < all.length && performance.now() - lastMs < patienceMs) {
    const deliveries = await queues.target.receive({ max: 1_000, wait: '1s' })
    const now = Date.now()
    if (deliveries.length > 0) lastMs = performance.now()
    for (const { message, sentAt } of deliveries) {
      payloads += 1
      firsts.push(...message.sids.slice(0, 1))
      const order = message.sids.map((sid) => times.get(sid) ?? Number.NaN)
      if (order.some((at, index) => !(at >= (order[index - 1] ?? 0)))) disordered += 1
      for (const sid of message.sids) {
        if (arrivedAt.has(sid)) repeated += 1
        arrivedAt.set(sid, now)
        mergedAt.set(sid, sentAt)
      }
    }
    // Continue receiving meanwhile.
    acknowledged.push(...deliveries.map((delivery) => delivery.acknowledge()))
  }
  await Promise.all(acknowledged)
  return { payloads, firsts, mergedAt, arrivedAt, repeated, disordered }
}
