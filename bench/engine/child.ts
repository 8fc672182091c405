/** The second process of the engine benchmark. */
import type { Backend, Delivery } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { answerRequests } from '../child-process.ts'
import { consumeTens, queue, sendSingles } from '../load.ts'

export type ChildRequest =
  | { readonly kind: 'resident'; readonly file: string; readonly count: number }
  | { readonly kind: 'open'; readonly file: string }
  | { readonly kind: 'wait' }
  | { readonly kind: 'parked' }
  | { readonly kind: 'idle'; readonly polls: number; readonly forMs: number }

let opened: Backend | undefined

answerRequests(answer)

async function answer(request: ChildRequest): Promise<number> {
  switch (request.kind) {
    case 'resident':
      return resident(request.file, request.count)
    case 'open':
      opened = await openSqlite({ file: request.file })
      return 0
    case 'wait':
      return waitOnce()
    case 'parked':
      // Requests are handled in order, so the receive has started. Let it find nothing and wait.
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      return 0
    case 'idle':
      return idle(request.polls, request.forMs)
  }
}

function store(): Backend {
  if (opened === undefined) throw new Error('The store was not opened.')
  return opened
}

async function resident(file: string, count: number): Promise<number> {
  const backend = await openSqlite({ file })
  await sendSingles(backend, count, 100)
  await consumeTens(backend, count, 10)
  const megabytes = process.memoryUsage.rss() / 2 ** 20
  await backend.close()
  return megabytes
}

async function waitOnce(): Promise<number> {
  const [delivery] = await store().receive({ queue, max: 1, waitMs: 20_000 })
  const wokenMs = performance.timeOrigin + performance.now()
  if (delivery === undefined) throw new Error('A waiting receive was not woken.')
  await acknowledge(delivery)
  return wokenMs
}

async function acknowledge({ receipt }: Delivery): Promise<void> {
  await store().settle({ queue, settlements: [{ receipt, outcome: { kind: 'acknowledge' } }] })
}

/** The CPU use of the process while its receives wait, as a share of one core. */
async function idle(polls: number, forMs: number): Promise<number> {
  const giveUp = new AbortController()
  const { signal } = giveUp
  const parked = Array.from({ length: polls }, () =>
    store()
      .receive({ queue, max: 10, waitMs: 20_000, signal })
      .catch(() => []),
  )
  await new Promise((resolve) => setTimeout(resolve, 500))
  const before = process.cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, forMs))
  const used = process.cpuUsage(before)
  giveUp.abort()
  await Promise.all(parked)
  return (used.user + used.system) / 1_000 / forMs
}
