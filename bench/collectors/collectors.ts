/** Merges conversations while messages still arrive, in a separate worker process. */
import { BenchChild } from '../child-process.ts'
import { inScratchFolder } from '../load.ts'
import type { BenchOptions } from '../main.ts'
import { formatMs, formatRate, percentile, perSecond, type Report, type Row } from '../report.ts'
import { openTalks, windowMs } from './app.ts'
import { type Plan, plan, type Received, receiveAll, type Sent, sendAll } from './conversations.ts'
import type { MergeRequest } from './worker.child.ts'

const lateMsMax = 1_000

export async function benchCollectors({ isQuick }: BenchOptions): Promise<Report> {
  const size: Plan = isQuick
    ? { conversations: 1_000, messagesMax: 20, lastsMs: 15_000 }
    : { conversations: 10_000, messagesMax: 20, lastsMs: 60_000 }
  return inScratchFolder(async (data) => {
    const mill = await openTalks(data)
    const worker = new BenchChild<MergeRequest>(new URL('./worker.child.ts', import.meta.url))
    await worker.ask({ kind: 'merge', data })
    const all = plan(size)
    const receiving = receiveAll(mill, all, 3 * windowMs)
    const sent = await sendAll(mill, all)
    const received = await receiving
    const left = (await mill.collectors.talks.list()).items.length
    await worker.end()
    await mill.close()
    return {
      title: 'Collectors: merging conversations under load',
      notes: [
        `${size.conversations.toLocaleString('en-US')} conversations with 1 to ${size.messagesMax} messages each, at random times within ${size.lastsMs / 1_000} s; a window of ${windowMs / 1_000} s`,
        'One process adds the messages and receives the payloads; another one merges',
        'The delay of a message is the time beyond its window',
      ],
      rows: rows(size, { sent, received, left, count: all.length }),
    }
  })
}

interface Run {
  readonly sent: Sent
  readonly received: Received
  readonly count: number
  /** Keys that still have staged items at the end. */
  readonly left: number
}

function rows({ lastsMs }: Plan, { sent, received, count, left }: Run): readonly Row[] {
  const { arrivedAt, mergedAt, firsts, payloads, repeated, disordered } = received
  const lateMs = (sid: number, at: number): number => at - (sent.addedAt.get(sid) ?? 0) - windowMs
  const missing = count - arrivedAt.size
  return [
    {
      what: 'messages added',
      measured: formatRate(perSecond(count, lastsMs)),
    },
    {
      what: 'one add, p50',
      measured: formatMs(percentile(sent.tookMs, 0.5)),
    },
    { what: 'one add, p99', measured: formatMs(percentile(sent.tookMs, 0.99)) },
    {
      what: 'payloads they were merged into',
      measured: `${payloads.toLocaleString('en-US')}, of ${(count / payloads).toFixed(1)} messages`,
    },
    noneOf('messages in no payload', missing),
    noneOf('messages in more than one payload', repeated),
    noneOf('payloads out of order', disordered),
    noneOf('keys with items left', left),
    lateRow(
      'delay until the payload is in its queue, p99 of messages',
      [...mergedAt].map(([sid, at]) => lateMs(sid, at)),
    ),
    lateRow(
      'delay until a receiver has it, p99 of messages',
      [...arrivedAt].map(([sid, at]) => lateMs(sid, at)),
    ),
    lateRow(
      'the same, p99 of the messages that opened a window',
      firsts.map((sid) => lateMs(sid, arrivedAt.get(sid) ?? Number.NaN)),
    ),
  ]
}

function lateRow(what: string, lateMs: readonly number[]): Row {
  const p99 = percentile(lateMs, 0.99)
  return {
    what,
    measured: `${formatMs(p99)} (most ${formatMs(percentile(lateMs, 1))})`,
    bar: `at most ${lateMsMax} ms`,
    isMet: p99 <= lateMsMax,
  }
}

function noneOf(what: string, count: number): Row {
  return { what, measured: String(count), bar: 'none', isMet: count === 0 }
}
