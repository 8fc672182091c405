/** `millrace queue`: the queues of a store. Works while servers and workers use the store. */

import type { Command } from 'commander'
import { checkDelayFits, type DelayAndRetention, isFifoName } from '../../core/check-queue.ts'
import type { Violations } from '../../core/checks.ts'
import { counted } from '../../core/counted.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { defaultQueueSettings } from '../../core/queue-settings.ts'
import { listQueues } from '../../operations/list-queues.ts'
import { viewQueue } from '../../operations/queue-view.ts'
import { CommandFailure } from './command-failure.ts'
import { confirm } from './confirm.ts'
import { exitCodes } from './exit-codes.ts'
import { many, type Pairs, pair } from './option-values.ts'
import { queueMetricsCommand } from './queue-metrics.ts'
import { addSettingOptions, type QueueSettingFlags, settingsOf } from './queue-options.ts'
import { queueSheet, queueTable } from './queue-sheet.ts'
import type { Shell } from './shell.ts'
import {
  type Call,
  inStore,
  newCommand,
  run,
  type StoreFlags,
  storeCommand,
} from './store-command.ts'
import { printable } from './table.ts'

interface ListFlags extends StoreFlags {
  readonly prefix?: string
}

interface CreateFlags extends StoreFlags, QueueSettingFlags {
  readonly fifo?: true
  readonly tag?: Pairs
}

interface TagFlags extends StoreFlags {
  readonly set?: Pairs
  readonly remove?: readonly string[]
}

interface DangerFlags extends StoreFlags {
  readonly yes?: true
  readonly dryRun?: true
}

export function queueCommand(parent: Command, shell: Shell): void {
  const queue = newCommand(parent, {
    usage: 'queue',
    description: 'Show, create, change, purge and delete queues.',
  })
  run(shell, listCommand(queue), list)
  run(
    shell,
    storeCommand(queue, {
      usage: 'show <queue>',
      description: 'Show the settings, counts and dead-letter queue of a queue.',
      examples: ['queue show orders', 'queue show orders --json'],
    }),
    show,
  )
  queueMetricsCommand(queue, shell)
  run(shell, createCommand(queue), create)
  run(shell, setCommand(queue), set)
  run(
    shell,
    dangerCommand(queue, 'delete', 'Delete a queue and all its messages.'),
    (call: Call<DangerFlags>, name: string) => destroy(call, name, 'delete'),
  )
  run(
    shell,
    dangerCommand(
      queue,
      'purge',
      'Delete all messages of a queue, including messages in flight and delayed ones.',
    ),
    (call: Call<DangerFlags>, name: string) => destroy(call, name, 'purge'),
  )
  run(
    shell,
    storeCommand(queue, {
      usage: 'tag <queue>',
      description: 'Set or remove the tags of a queue.',
      examples: ['queue tag orders --set team=payments --remove owner'],
    })
      .option('--set <name=value>', 'set a tag (repeatable)', pair)
      .option('--remove <name>', 'remove a tag (repeatable)', many),
    tag,
  )
}

function listCommand(parent: Command): Command {
  return storeCommand(parent, {
    usage: 'list',
    description: 'List all queues, those with the oldest messages first.',
    examples: ['queue list', 'queue list --prefix shop-dev-'],
  }).option('--prefix <text>', 'only queues whose name starts with this')
}

function createCommand(parent: Command): Command {
  const command = storeCommand(parent, {
    usage: 'create <queue>',
    description: 'Create a queue. Creates the store too if it does not exist.',
    examples: [
      'queue create orders-dlq --retention 14d',
      'queue create orders --visibility 5m --dlq orders-dlq --max-receives 5',
      'queue create telemetry.fifo --content-deduplication',
    ],
  })
  return addSettingOptions(command, { isNew: true })
    .option('--fifo', "create a FIFO queue; its name must end with '.fifo'")
    .option('--tag <name=value>', 'set a tag (repeatable)', pair)
}

function setCommand(parent: Command): Command {
  const command = storeCommand(parent, {
    usage: 'set <queue>',
    description: 'Change settings of a queue. Other settings keep their values.',
    examples: ['queue set orders --visibility 10m', 'queue set orders --no-dlq'],
  })
  return addSettingOptions(command, { isNew: false })
    .option('--no-dlq', 'remove the dead-letter queue')
    .option('--no-content-deduplication', 'FIFO: require a deduplication id with every message')
}

function dangerCommand(parent: Command, verb: string, description: string): Command {
  const examples = [`queue ${verb} orders --dry-run`, `queue ${verb} orders --yes`]
  return storeCommand(parent, { usage: `${verb} <queue>`, description, examples })
    .option('--yes', 'do not ask for confirmation')
    .option('--dry-run', 'show what would be deleted, and change nothing')
}

async function list({ flags, output, shell }: Call<ListFlags>): Promise<void> {
  const { prefix } = flags
  const queues = await inStore({ flags, shell }, ({ backend }) =>
    listQueues(backend, { ...(prefix !== undefined && { prefix }) }),
  )
  if (flags.json) return output.json({ queues })
  if (queues.length === 0) return output.notice('No queues found.')
  output.line(queueTable(queues, output.paint))
}

async function show({ flags, output, shell }: Call<StoreFlags>, name: string): Promise<void> {
  const queue = await inStore({ flags, shell }, ({ backend }) => viewQueue(backend, name), {
    queue: name,
  })
  if (flags.json) output.json(queue)
  else output.line(queueSheet(queue, output.paint))
}

async function create({ flags, output, shell }: Call<CreateFlags>, name: string): Promise<void> {
  if (flags.fifo && !isFifoName(name)) {
    const message = `The name of a FIFO queue must end with '.fifo'. Use ${printable(name)}.fifo.`
    throw new CommandFailure(exitCodes.usage, message)
  }
  const { tag: tags = {} } = flags
  const settings = settingsOf(flags)
  refuseLongDelay({ ...defaultQueueSettings, ...settings })
  const { created, queue } = await inStore(
    { flags, shell },
    async ({ backend }) => {
      const { created } = await backend.createQueue({ queue: name, settings, tags })
      return { created, queue: await viewQueue(backend, name) }
    },
    { create: true },
  )
  if (flags.json) return output.json({ created, queue })
  output.line(
    created ? `Created ${queue.name}.` : `${queue.name} already exists with these settings.`,
  )
}

async function set(
  { flags, output, shell }: Call<StoreFlags & QueueSettingFlags>,
  name: string,
): Promise<void> {
  const queue = await inStore(
    { flags, shell },
    async ({ backend }) => {
      const { settings } = await backend.readQueue({ queue: name })
      const changes = settingsOf(flags, settings)
      if (Object.keys(changes).length === 0) {
        throw new CommandFailure(
          exitCodes.usage,
          'Name at least one setting to change, such as --visibility 5m.',
        )
      }
      refuseLongDelay({ ...settings, ...changes })
      await backend.changeQueue({ queue: name, changes })
      return viewQueue(backend, name)
    },
    { queue: name },
  )
  if (flags.json) output.json(queue)
  else output.line(queueSheet(queue, output.paint))
}

/** The store accepts such settings, because SQS does. On the command line they are most likely a mistake. */
function refuseLongDelay(settings: DelayAndRetention): void {
  const violations: Violations = []
  checkDelayFits(violations, '--delay', settings)
  if (violations.length === 0) return
  throw new CommandFailure(exitCodes.usage, MillraceError.invalid(violations).message)
}

async function tag({ flags, output, shell }: Call<TagFlags>, name: string): Promise<void> {
  const { set: added, remove } = flags
  if (added === undefined && remove === undefined) {
    throw new CommandFailure(exitCodes.usage, 'Use --set or --remove to name the tags to change.')
  }
  const { tags } = await inStore(
    { flags, shell },
    ({ backend }) =>
      backend.tagQueue({
        queue: name,
        ...(added !== undefined && { set: added }),
        ...(remove !== undefined && { remove }),
      }),
    { queue: name },
  )
  if (flags.json) return output.json({ name, tags })
  for (const [key, value] of Object.entries(tags)) output.line(printable(`${key}=${value}`))
}

async function destroy(
  { flags, output, shell }: Call<DangerFlags>,
  name: string,
  verb: 'delete' | 'purge',
): Promise<void> {
  const dryRun = flags.dryRun === true
  await inStore(
    { flags, shell },
    async ({ backend }) => {
      const { visible, in_flight, delayed } = await viewQueue(backend, name)
      const messages = visible + in_flight + delayed
      const what = verb === 'delete' ? `the queue ${name} and its` : `${name} and delete its`
      if (!dryRun) {
        const question = `This will ${verb} ${printable(what)} ${counted(messages, 'message')}.`
        await confirm(shell, { question, name, yes: flags.yes })
        if (verb === 'delete') await backend.deleteQueue({ queue: name })
        else await backend.purgeQueue({ queue: name })
      }
      if (flags.json) return output.json({ queue: name, messages, dry_run: dryRun })
      const done = verb === 'delete' ? 'Deleted' : 'Purged'
      const begin = dryRun ? `Would ${verb}` : done
      output.line(`${begin} ${printable(name)} with ${counted(messages, 'message')}.`)
    },
    { queue: name },
  )
}
