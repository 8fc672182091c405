/** `millrace collector`: the items staged under each key. Works while workers merge them. */

import type { Command } from 'commander'
import { limits } from '../../core/limits.ts'
import { supported } from '../../core/supported.ts'
import {
  type CollectedKeyView,
  collectedKeyView,
  type KeyView,
  keyView,
} from '../../operations/collector-view.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { wholeNumberIn } from './option-values.ts'
import { boldHead } from './queue-sheet.ts'
import type { Colours, Shell } from './shell.ts'
import {
  type Call,
  inStore,
  newCommand,
  run,
  type StoreFlags,
  storeCommand,
} from './store-command.ts'
import { printable, table } from './table.ts'

interface ListFlags extends StoreFlags {
  readonly collector?: string
  readonly prefix?: string
  readonly limit: number
  readonly after?: string
}

export function collectorCommand(parent: Command, shell: Shell): void {
  const command = newCommand(parent, {
    usage: 'collector',
    description: 'Show the items that wait in collectors, and merge them early.',
  })
  run(shell, listCommand(command), list)
  const showing = {
    usage: 'show <collector> <key>',
    description: 'Show the items that wait under a key, in the order of merging.',
    examples: ['collector show replies-dev-conversations abc123 --json'],
  }
  run(shell, storeCommand(command, showing), show)
  const flushing = {
    usage: 'flush <collector> <key>',
    description: 'Merge the items of a key now, without waiting for the end of its window.',
    examples: ['collector flush replies-dev-conversations abc123'],
  }
  run(shell, storeCommand(command, flushing), flush)
}

function listCommand(parent: Command): Command {
  return storeCommand(parent, {
    usage: 'list',
    description: 'List keys with items: staged (waiting), running, or kept after a dead letter.',
    examples: ['collector list', 'collector list --collector replies-dev-conversations --json'],
  })
    .option('--collector <name>', 'only keys of this collector')
    .option('--prefix <text>', 'only collectors whose name starts with this')
    .option('--limit <number>', 'maximum number to show', wholeNumberIn(limits.pageSize), 20)
    .option('--after <cursor>', 'start after this cursor, from the previous page')
}

async function list({ flags, output, shell }: Call<ListFlags>): Promise<void> {
  const { collector, prefix, limit, after } = flags
  const request = {
    limit,
    ...(collector !== undefined && { collector }),
    ...(prefix !== undefined && { prefix }),
    ...(after !== undefined && { after }),
  }
  const { items, next = null } = await inStore({ flags, shell }, ({ backend }) =>
    supported(backend.collectors).list(request),
  )
  const keys = items.map(keyView)
  if (flags.json) return output.json({ keys, next })
  if (keys.length === 0) return output.notice('No items are staged.')
  output.line(keyTable(keys, output.paint))
  if (next !== null) output.notice(`To see more, add --after ${next}`)
}

async function show(
  { flags, output, shell }: Call<StoreFlags>,
  collector: string,
  key: string,
): Promise<void> {
  const limit = limits.pageSize.max
  const found = await inStore({ flags, shell }, ({ backend }) =>
    supported(backend.collectors).read({ collector, key, limit }),
  )
  if (found === undefined) throw nothingStaged(collector, key)
  const view = collectedKeyView(found)
  if (flags.json) return output.json(view)
  output.line(keyTable([view], output.paint))
  if (view.items.length > 0) output.line(`\n${itemTable(view.items, output.paint)}`)
  if (view.kept_items.length === 0) return
  output.line(
    `\nKept because their trigger was dead-lettered:\n${itemTable(view.kept_items, output.paint)}`,
  )
  output.notice('To merge the kept items, redrive the triggers or flush the key.')
}

async function flush(
  { flags, output, shell }: Call<StoreFlags>,
  collector: string,
  key: string,
): Promise<void> {
  const flushed = await inStore({ flags, shell }, ({ backend }) =>
    supported(backend.collectors).flush({ collector, key }),
  )
  if (!flushed) throw nothingStaged(collector, key)
  if (flags.json) return output.json({ collector, key, flushed })
  output.line(`${printable(key)} will be merged now.`)
}

function nothingStaged(collector: string, key: string): CommandFailure {
  const message =
    `No items are staged under the key ${printable(key)} ` +
    `of the collector ${printable(collector)}.`
  return new CommandFailure(exitCodes.notFound, message)
}

function keyTable(keys: readonly KeyView[], paint: Pick<Colours, 'bold'>): string {
  const rows = keys.map(({ staged, bytes, running, kept, ...view }) => ({
    ...view,
    staged: String(staged),
    bytes: String(bytes),
    running: String(running),
    kept: String(kept),
  }))
  const columns = [
    'collector',
    'key',
    'staged',
    'bytes',
    'running',
    'kept',
    'trigger',
    'due_at',
    'since',
  ] as const
  const shown = table(columns, rows, { rightAligned: ['staged', 'bytes', 'running', 'kept'] })
  return boldHead(shown, paint)
}

function itemTable(items: CollectedKeyView['items'], paint: Pick<Colours, 'bold'>): string {
  const rows = items.map(({ id, order, staged_at, body }) => ({
    id,
    order: String(order),
    staged_at,
    bytes: String(Buffer.byteLength(body)),
  }))
  const shown = table(['id', 'order', 'staged_at', 'bytes'], rows, {
    rightAligned: ['order', 'bytes'],
  })
  return boldHead(shown, paint)
}
