/**
 * Compares writes in the caller's thread with writes in a worker thread. The same backend is measured in both; calls
 * to the worker are batched.
 */
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { body, consumeTens, inScratchFolder, queue, sendSingles } from '../load.ts'
import type { BenchOptions } from '../main.ts'
import {
  formatMs,
  formatRate,
  formatRatio,
  median,
  percentile,
  type Report,
  type Row,
} from '../report.ts'
import { openInThread } from './thread-backend.ts'

interface Round {
  readonly send: number
  readonly consume: number
  readonly loneSendMs: number
  readonly loopDelayMs: number
}

export async function benchWriter({ isQuick }: BenchOptions): Promise<Report> {
  const rounds = isQuick ? 2 : 7
  const batch = isQuick ? 5_000 : 20_000
  return inScratchFolder(async (folder) => {
    const here = await openSqlite({ file: join(folder, 'here.db') })
    const there = await openInThread(join(folder, 'there.db'))
    await here.createQueue({ queue })
    await there.createQueue({ queue })
    const hereRounds: Round[] = []
    const thereRounds: Round[] = []
    for (let round = 0; round <= rounds; round += 1) {
      const one = await measure(here, batch)
      const other = await measure(there, batch)
      if (round === 0) continue
      hereRounds.push(one)
      thereRounds.push(other)
    }
    await here.close()
    await there.close()
    return {
      title: "Writes in the caller's thread or in a worker thread",
      notes: [`Messages of 200 bytes; medians of ${rounds} rounds in which both take turns`],
      rows: [
        rateRow('single sends, 100 in flight', hereRounds, thereRounds, 'send'),
        rateRow('receive + delete of tens, ten consumers', hereRounds, thereRounds, 'consume'),
        timeRow('a send alone', hereRounds, thereRounds, 'loneSendMs'),
        timeRow(
          'delay of the event loop under single sends, p99',
          hereRounds,
          thereRounds,
          'loopDelayMs',
        ),
      ],
    }
  })
}

async function measure(backend: Backend, batch: number): Promise<Round> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const send = await sendSingles(backend, batch, 100)
  delay.disable()
  const consume = await consumeTens(backend, batch, 10)
  const lone: number[] = []
  for (let sample = 0; sample < 200; sample += 1) {
    const startedMs = performance.now()
    await backend.send({ queue, messages: [{ body }] })
    lone.push(performance.now() - startedMs)
  }
  await consumeTens(backend, 200, 1)
  return {
    send,
    consume,
    loneSendMs: percentile(lone, 0.5),
    loopDelayMs: delay.percentile(99) / 1e6,
  }
}

type Measure = keyof Round

function rateRow(what: string, here: readonly Round[], there: readonly Round[], key: Measure): Row {
  const [mine, theirs] = medians(here, there, key)
  return {
    what,
    measured: `caller's thread ${formatRate(mine)}`,
    beside: `worker thread ${formatRate(theirs)}: ${formatRatio(theirs / mine)}`,
  }
}

function timeRow(what: string, here: readonly Round[], there: readonly Round[], key: Measure): Row {
  const [mine, theirs] = medians(here, there, key)
  return {
    what,
    measured: `caller's thread ${formatMs(mine)}`,
    beside: `worker thread ${formatMs(theirs)}`,
  }
}

function medians(
  here: readonly Round[],
  there: readonly Round[],
  key: Measure,
): readonly [number, number] {
  return [median(here.map((round) => round[key])), median(there.map((round) => round[key]))]
}
