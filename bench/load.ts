/** The load of the benchmarks on a backend: closed loops of senders and consumers. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Backend } from '../src/backends/backend.ts'
import { perSecond } from './report.ts'

export const queue = 'bench'
/** 200 bytes, like a small job. */
export const body: string = 'm'.repeat(200)

/** Single sends with a fixed number in flight; returns messages per second. */
export async function sendSingles(
  backend: Backend,
  count: number,
  inFlight: number,
): Promise<number> {
  let left = count
  const startedMs = performance.now()
  const sender = async (): Promise<void> => {
    while (left-- > 0) await backend.send({ queue, messages: [{ body }] })
  }
  await Promise.all(Array.from({ length: inFlight }, sender))
  return perSecond(count, performance.now() - startedMs)
}

/** Consumers that receive ten and acknowledge ten; returns messages per second. */
export async function consumeTens(
  backend: Backend,
  count: number,
  consumers: number,
): Promise<number> {
  let done = 0
  const startedMs = performance.now()
  const consumer = async (): Promise<void> => {
    while (done < count) {
      const deliveries = await backend.receive({ queue, max: 10 })
      if (deliveries.length === 0) throw new Error('The benchmark ran out of messages.')
      done += deliveries.length
      await backend.settle({
        queue,
        settlements: deliveries.map(({ receipt }) => ({
          receipt,
          outcome: { kind: 'acknowledge' },
        })),
      })
    }
  }
  await Promise.all(Array.from({ length: consumers }, consumer))
  return perSecond(done, performance.now() - startedMs)
}

/** Fills the queue in large batches. */
export async function fill(backend: Backend, count: number): Promise<void> {
  const messages = Array.from({ length: 1_000 }, () => ({ body }))
  for (let sent = 0; sent < count; sent += messages.length) {
    const batch = messages.slice(0, Math.min(messages.length, count - sent))
    await backend.send({ queue, messages: batch, allOrNothing: true })
  }
}

export async function inScratchFolder<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
  try {
    return await run(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs them in turn, starting with another one each time. Results are in the order of the contenders. */
export async function inTurns<Contender, Result>(
  contenders: readonly Contender[],
  round: number,
  run: (contender: Contender) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (let turn = 0; turn < contenders.length; turn += 1) {
    const index = (round + turn) % contenders.length
    // The index is within the array.
    results[index] = await run(contenders[index] as Contender)
  }
  return results
}
