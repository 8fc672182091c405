/** `millrace inbox`: takes messages that wait for a person, and decides them, by hand. */
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
    description: 'Messages that wait for a person: claim, note, resolve, return.',
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
        description: 'Show a message, who has it, and what people did with it.',
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
          description: 'Take a message, or the one that has waited longest; nobody else gets it.',
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
        description: 'Keep a claimed message for longer.',
      }),
    ),
    renewItem,
  )
  run(
    shell,
    personCommand(inbox, {
      usage: 'note <queue> <id> <text>',
      description: 'Write something down about a message, claimed or not.',
    }),
    noteOnItem,
  )
  addEnds(shell, inbox)
}

function addEnds(shell: Shell, inbox: Command): void {
  const resolving = {
    usage: 'resolve <queue> <id>',
    description: 'Say that a claimed message is done: it leaves the queue.',
  }
  const resolve = personCommand(inbox, resolving).option('--note <text>', 'what was decided')
  run(shell, resolve, (call: Call<never>, ...place: readonly never[]) =>
    endItem(call, 'resolve', place),
  )
  const returning = {
    usage: 'return <queue> <id>',
    description: 'Put a claimed message back to those that wait.',
  }
  const giveBack = personCommand(inbox, returning).option('--note <text>', 'why it goes back')
  run(shell, giveBack, (call: Call<never>, ...place: readonly never[]) =>
    endItem(call, 'giveBack', place),
  )
}

function listCommand(parent: Command): Command {
  return personCommand(parent, {
    usage: 'list <queue>',
    description: 'Show what waits or is in the hands of somebody, oldest first.',
  })
    .option('--tab <tab>', `which of it: ${inboxTabs.join(', ')}`, oneOf(inboxTabs), 'all')
    .option('--limit <number>', 'how many at most', wholeNumberIn(limits.pageSize), 20)
    .option('--after <text>', 'go on behind the page before')
}

function personCommand(parent: Command, text: CommandText): Command {
  return storeCommand(parent, text).option(
    '--by <who>',
    'who you are, for the record (default: the user of this system)',
  )
}

function lasting(command: Command): Command {
  return command.option(
    '--for <duration>',
    "how long, from now on (default: the queue's visibility timeout)",
    durationIn(limits.inboxLeaseMs),
  )
}
