/** `millrace dlq`: shows dead-letter queues, and moves their messages back. */

import type { Command } from 'commander'
import { counted } from '../../core/counted.ts'
import { limits } from '../../core/limits.ts'
import {
  type DeadLetterQueueView,
  type DeadLetterSurvey,
  listDeadLetterQueues,
  surveyDeadLetters,
} from '../../operations/dead-letters.ts'
import { moveTaskView } from '../../operations/move-task-view.ts'
import { type QueueView, viewQueue } from '../../operations/queue-view.ts'
import { age } from './age.ts'
import { cancelRedrive, followRedrive, redriveQueue, skippedOf } from './dlq-redrive.ts'
import { wholeNumberIn } from './option-values.ts'
import { boldHead } from './queue-sheet.ts'
import type { Shell } from './shell.ts'
import {
  type Call,
  inStore,
  newCommand,
  run,
  type StoreFlags,
  storeCommand,
} from './store-command.ts'
import { printable, table } from './table.ts'

export function dlqCommand(parent: Command, shell: Shell): void {
  const dlq = newCommand(parent, {
    usage: 'dlq',
    description: 'Show dead letters, and move them back to their queues.',
  })
  run(
    shell,
    storeCommand(dlq, {
      usage: 'list',
      description: 'List the dead-letter queues, those with the oldest messages first.',
    }),
    list,
  )
  run(
    shell,
    storeCommand(dlq, {
      usage: 'show <queue>',
      description: 'Count dead letters by source queue and by reason.',
      examples: ['dlq show orders-dlq'],
    }),
    show,
  )
  run(shell, redriveCommand(dlq), redriveQueue)
  run(
    shell,
    storeCommand(dlq, {
      usage: 'follow <queue>',
      description: 'Show the progress of a running redrive. This process moves messages too.',
      examples: ['dlq follow orders-dlq'],
    }).option('--jsonl', progressLines),
    followRedrive,
  )
  run(
    shell,
    storeCommand(dlq, {
      usage: 'tasks <queue>',
      description: 'List the redrives of a dead-letter queue with their task ids, newest first.',
      examples: ['dlq tasks orders-dlq'],
    }).option('--limit <number>', 'maximum number to show', wholeNumberIn(limits.pageSize), 10),
    tasks,
  )
  run(
    shell,
    storeCommand(dlq, {
      usage: 'cancel <task>',
      description: "Stop a redrive by its task id (see 'dlq tasks'). Moved messages stay moved.",
    }),
    cancelRedrive,
  )
}

const progressLines = 'print progress to stdout, one line of JSON per step'

function redriveCommand(parent: Command): Command {
  return storeCommand(parent, {
    usage: 'redrive <queue>',
    description: 'Move dead letters back to their source queues, or to another queue.',
    examples: [
      'dlq redrive orders-dlq --dry-run',
      'dlq redrive orders-dlq --rate 50 --yes',
      'dlq redrive orders-dlq --to orders-retry',
    ],
  })
    .option('--to <queue>', 'move to this queue instead of the source queues')
    .option(
      '--rate <number>',
      'maximum number of messages per second',
      wholeNumberIn(limits.movesPerSecond),
    )
    .option('--yes', 'do not ask for confirmation')
    .option('--dry-run', 'show what would be moved, and change nothing')
    .option('--jsonl', progressLines)
    .addHelpText(
      'after',
      '\nPress Ctrl-C once to leave the redrive to other processes, and twice to cancel it.',
    )
}

async function list({ flags, output, shell }: Call<StoreFlags>): Promise<void> {
  const queues = await inStore({ flags, shell }, ({ backend }) => listDeadLetterQueues(backend))
  if (flags.json) return output.json({ queues })
  if (queues.length === 0) return output.notice('No queue has a dead-letter queue.')
  output.line(boldHead(deadLetterTable(queues), output.paint))
}

function deadLetterTable(queues: readonly DeadLetterQueueView[]): string {
  const rows = queues.map(({ name, visible, in_flight, oldest_age_ms, sources }) => ({
    name,
    visible: String(visible),
    in_flight: String(in_flight),
    oldest: oldest_age_ms === null ? '-' : age(oldest_age_ms),
    sources: sources.join(', '),
  }))
  return table(['name', 'visible', 'in_flight', 'oldest', 'sources'], rows, {
    rightAligned: ['visible', 'in_flight', 'oldest'],
  })
}

async function show({ flags, output, shell }: Call<StoreFlags>, name: string): Promise<void> {
  const { queue, survey } = await inStore(
    { flags, shell },
    async ({ backend }) => ({
      queue: await viewQueue(backend, name),
      survey: await surveyDeadLetters(backend, name),
    }),
    { queue: name },
  )
  if (flags.json) return output.json({ ...countsOf(queue), ...survey })
  output.line(output.paint.bold(printable(queue.name)))
  output.line(`dead letters of  ${queue.dead_letter_sources.join(', ') || 'no queue'}`)
  output.line(`visible          ${queue.visible}`)
  output.line(`in flight        ${queue.in_flight}`)
  if (survey.groups.length > 0) output.line(`\n${groupTable(survey)}`)
  if (!survey.complete) {
    output.line(
      `\nOnly the first ${survey.looked_at} of ${counted(queue.visible, 'message')} were examined.`,
    )
  }
}

function countsOf(queue: QueueView): object {
  const { name, type, visible, in_flight, delayed, oldest_age_ms, dead_letter_sources } = queue
  return { name, type, visible, in_flight, delayed, oldest_age_ms, sources: dead_letter_sources }
}

function groupTable({ groups }: DeadLetterSurvey): string {
  const rows = groups.map(({ source, reason, messages, last_at }) => ({
    messages: String(messages),
    source: source ?? '-',
    last_at,
    reason: reason ?? (source === null ? 'sent here directly' : 'received too often'),
  }))
  return table(['messages', 'source', 'last_at', 'reason'], rows, { rightAligned: ['messages'] })
}

async function tasks(
  { flags, output, shell }: Call<StoreFlags & { readonly limit: number }>,
  source: string,
): Promise<void> {
  const found = await inStore(
    { flags, shell },
    async ({ backend }) => {
      await backend.readQueue({ queue: source })
      return backend.listMoveTasks({ source, limit: flags.limit })
    },
    { queue: source },
  )
  const views = found.map(moveTaskView)
  if (flags.json) return output.json({ tasks: views })
  if (views.length === 0) return output.notice('No redrives found.')
  const rows = views.map((task) => ({
    ...task,
    moved: `${task.moved} of ${task.to_move}`,
    skipped: String(skippedOf(task)),
    to: task.destination ?? 'source queues',
    rate: task.rate === null ? null : `${task.rate}/s`,
  }))
  const columns = [
    'id',
    'status',
    'moved',
    'skipped',
    'to',
    'rate',
    'started_at',
    'failure',
  ] as const
  output.line(boldHead(table(columns, rows), output.paint))
}
