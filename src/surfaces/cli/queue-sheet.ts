/** Queues as text: a table of all queues, and the details of one. */

import { counted } from '../../core/counted.ts'
import { formatDuration } from '../../core/durations.ts'
import type { QueueSummary, QueueView } from '../../operations/queue-view.ts'
import { age } from './age.ts'
import type { Colours } from './shell.ts'
import { labelledLines, printable, table } from './table.ts'

export function queueTable(queues: readonly QueueSummary[], paint: Pick<Colours, 'bold'>): string {
  const rows = queues.map((queue) => ({
    name: queue.name,
    visible: String(queue.visible),
    in_flight: String(queue.in_flight),
    delayed: String(queue.delayed),
    oldest: queue.oldest_age_ms === null ? '-' : age(queue.oldest_age_ms),
    dlq: queue.dead_letter_queue ?? '-',
  }))
  const shown = table(['name', 'visible', 'in_flight', 'delayed', 'oldest', 'dlq'], rows, {
    rightAligned: ['visible', 'in_flight', 'delayed', 'oldest'],
  })
  return boldHead(shown, paint)
}

export function boldHead(shown: string, { bold }: Pick<Colours, 'bold'>): string {
  const [head = '', ...lines] = shown.split('\n')
  return [bold(head), ...lines].join('\n')
}

/** Lines of label and value. Lines that do not apply to the queue are left out. */
export function queueSheet(queue: QueueView, { bold }: Pick<Colours, 'bold'>): string {
  const { settings } = queue
  const isFifo = queue.type === 'fifo'
  const deadLetters =
    queue.dead_letter_queue === null
      ? 'none'
      : `${queue.dead_letter_queue}, after ${counted(queue.max_receives ?? 0, 'receive')}`
  const lines = labelledLines([
    ['type', queue.type],
    ['visible', String(queue.visible)],
    ['in flight', String(queue.in_flight)],
    ['delayed', String(queue.delayed)],
    ['oldest', queue.oldest_age_ms === null ? null : age(queue.oldest_age_ms)],
    ['visibility', formatDuration(settings.visibility_ms)],
    ['retention', formatDuration(settings.retention_ms)],
    ['delay', formatDuration(settings.delay_ms)],
    ['receive wait', formatDuration(settings.receive_wait_ms)],
    ['largest message', `${settings.message_bytes_max} bytes`],
    ['deduplication', isFifo ? deduplication(queue) : null],
    ['concurrency', settings.concurrency === null ? null : String(settings.concurrency)],
    ['obeys', settings.obeys.join(', ') || null],
    ['job types', settings.job_types.join(', ') || null],
    ['hidden', settings.hidden.join(', ') || null],
    ['dead letters to', deadLetters],
    ['dead letters of', queue.dead_letter_sources.join(', ') || null],
    ['tags', tagsOf(queue)],
    ['since creation', totalsOf(queue)],
    ['created', queue.created_at],
    ['changed', queue.changed_at],
  ])
  return [bold(printable(queue.name)), ...lines].join('\n')
}

function deduplication({ settings }: QueueView): string {
  const by = settings.content_deduplication ? 'by content' : 'by id'
  return `${by}, within the ${settings.deduplication_scope}`
}

function tagsOf({ tags }: QueueView): string | null {
  const pairs = Object.entries(tags).map(([name, value]) => `${name}=${value}`)
  return pairs.length === 0 ? null : pairs.join(', ')
}

function totalsOf({ totals }: QueueView): string {
  const { sent, received, acknowledged, dead_lettered, expired } = totals
  return (
    `${sent} sent, ${received} received, ${acknowledged} acknowledged, ` +
    `${dead_lettered} dead-lettered, ${expired} expired`
  )
}
