/** `millrace queue metrics`: metrics of the last minutes, as recorded by servers and workers. */
import type { Command } from 'commander'
import { metricsKeptMs, minuteMs } from '../../core/minutes.ts'
import { type MinuteView, minuteView } from '../../operations/metrics/metric-view.ts'
import { createMetricReader } from '../../operations/metrics/metrics.ts'
import { age } from './age.ts'
import { durationIn } from './option-values.ts'
import { boldHead } from './queue-sheet.ts'
import type { Colours, Shell } from './shell.ts'
import { type Call, inStore, run, type StoreFlags, storeCommand } from './store-command.ts'
import { table } from './table.ts'

interface MetricFlags extends StoreFlags {
  /** Milliseconds. */
  readonly last?: number
}

const spans = { min: minuteMs, max: metricsKeptMs, unit: 'ms' }

const defaultLastMs = 15 * minuteMs

export function queueMetricsCommand(parent: Command, shell: Shell): void {
  const command = storeCommand(parent, {
    usage: 'metrics <queue>',
    description: 'Show the metrics of a queue, minute by minute.',
    examples: ['queue metrics orders', 'queue metrics orders --last 6h --json'],
  }).option('--last <duration>', 'how far back to look (default: 15m)', durationIn(spans))
  run(shell, command, show)
}

async function show({ flags, output, shell }: Call<MetricFlags>, name: string): Promise<void> {
  const last = { ms: flags.last ?? defaultLastMs }
  const { clock } = shell.ports
  const minutes = await inStore(
    { flags, shell },
    ({ backend }) => createMetricReader({ backend, clock }).minutes(name, { last }),
    { queue: name },
  )
  const shown = minutes.map(minuteView)
  if (flags.json) return output.json({ queue: name, minutes: shown })
  if (shown.length === 0) {
    return output.notice(
      'No metrics: the queue had no activity, or no server or worker was running.',
    )
  }
  output.line(minuteTable(shown, output.paint))
}

const columns = [
  'minute',
  'sent',
  'received',
  'deleted',
  'failed',
  'dead',
  'expired',
  'visible',
  'in_flight',
  'delayed',
  'oldest',
  'ran',
  'average',
  'longest',
] as const

function minuteTable(minutes: readonly MinuteView[], paint: Pick<Colours, 'bold'>): string {
  const rows = minutes.map((minute) => ({
    minute: `${minute.minute.slice(0, 16)}Z`,
    sent: String(minute.sent),
    received: String(minute.received),
    deleted: String(minute.acknowledged),
    failed: String(minute.failed_attempts),
    dead: String(minute.dead_lettered),
    expired: String(minute.expired),
    visible: String(minute.visible),
    in_flight: String(minute.in_flight),
    delayed: String(minute.delayed),
    oldest: minute.oldest_age_ms === null ? '-' : age(minute.oldest_age_ms),
    ...handlerCells(minute),
  }))
  const [, ...numbers] = columns
  return boldHead(table(columns, rows, { rightAligned: numbers }), paint)
}

function handlerCells({
  handlers,
}: MinuteView): Record<'ran' | 'average' | 'longest', string | null> {
  if (handlers === null) return { ran: null, average: null, longest: null }
  return {
    ran: String(handlers.ended),
    average: `${Math.round(handlers.duration_ms_average)}ms`,
    longest: `${Math.round(handlers.duration_ms_max)}ms`,
  }
}
