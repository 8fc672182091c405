/** `millrace inbox`: claims and resolves messages that wait for a person. */
import type { Command } from 'commander'
import { limits } from '../../core/limits.ts'
import { inboxTabs } from '../../operations/inbox-tabs.ts'
import { addReveal } from './hidden-fields.ts'
import { claimItem, endItem, noteOnItem, renewItem } from './inbox-actions.ts'
import { listInbox, showItem } from './inbox-look.ts'
import { durationIn, oneOf, wholeNumberIn } from './option-values.ts'
import type { Shell } from './shell.ts'
import { type Call, type CommandText, newCommand, run, storeCommand } from './store-command.ts'

export function inboxCommand(parent: Command, shell: Shell): void {
  const inbox = newCommand(parent, {
    usage: 'inbox',
    description: 'Claim and resolve messages that wait for a person.',
    examples: [
      'inbox list handoff --tab unassigned',
      'inbox claim handoff --for 30m',
      "inbox resolve handoff <id> --note 'called back'",
    ],
  })
  run(shell, addReveal(listCommand(inbox)), listInbox)
  run(
    shell,
    addReveal(
      storeCommand(inbox, {
        usage: 'show <queue> <id>',
        description: 'Show a message, its claim and its history.',
      }),
    ),
    showItem,
  )
  run(
    shell,
    addReveal(
      lasting(
        personCommand(inbox, {
          usage: 'claim <queue> [id]',
          description: 'Claim a message for yourself (default: the oldest unclaimed one).',
        }),
      ),
    ),
    claimItem,
  )
  run(
    shell,
    lasting(
      personCommand(inbox, {
        usage: 'renew <queue> <id>',
        description: 'Extend your claim on a message.',
      }),
    ),
    renewItem,
  )
  run(
    shell,
    personCommand(inbox, {
      usage: 'note <queue> <id> <text>',
      description: 'Add a note to a message, claimed or not.',
    }),
    noteOnItem,
  )
  addEnds(shell, inbox)
}

function addEnds(shell: Shell, inbox: Command): void {
  const resolving = {
    usage: 'resolve <queue> <id>',
    description: 'Finish a claimed message and remove it from the queue.',
  }
  const resolve = personCommand(inbox, resolving).option('--note <text>', 'your decision')
  run(shell, resolve, (call: Call<never>, ...place: readonly never[]) =>
    endItem(call, 'resolve', place),
  )
  const releasing = {
    usage: 'release <queue> <id>',
    description: 'End your claim, so that others can claim the message.',
  }
  const releaseCommand = personCommand(inbox, releasing).option(
    '--note <text>',
    'why you release it',
  )
  run(shell, releaseCommand, (call: Call<never>, ...place: readonly never[]) =>
    endItem(call, 'release', place),
  )
}

function listCommand(parent: Command): Command {
  return personCommand(parent, {
    usage: 'list <queue>',
    description: 'List waiting and claimed messages, oldest first.',
  })
    .option('--tab <tab>', `which messages: ${inboxTabs.join(', ')}`, oneOf(inboxTabs), 'all')
    .option('--limit <number>', 'maximum number to show', wholeNumberIn(limits.pageSize), 20)
    .option('--after <cursor>', 'start after this cursor, from the previous page')
}

function personCommand(parent: Command, text: CommandText): Command {
  return storeCommand(parent, text).option('--by <who>', 'your name (default: your user name)')
}

function lasting(command: Command): Command {
  return command.option(
    '--for <duration>',
    "how long the claim lasts from now (default: the queue's visibility timeout)",
    durationIn(limits.inboxLeaseMs),
  )
}
