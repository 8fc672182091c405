/** `millrace message`: sends, receives and shows the messages of a queue. */
import { type Command, Option } from 'commander'
import { limits } from '../../core/limits.ts'
import { addAppOptions } from './app-options.ts'
import { addReveal } from './hidden-fields.ts'
import { attribute } from './message-attribute.ts'
import { peekMessages, tailQueue } from './message-look.ts'
import { deleteMessages, receiveMessages } from './message-receive.ts'
import { sendMessage } from './message-send.ts'
import { durationIn, oneOf, webAddress, wholeNumberIn } from './option-values.ts'
import type { Shell } from './shell.ts'
import { newCommand, run, storeCommand } from './store-command.ts'
import { addStoreOptions } from './store-options.ts'

export const peekStates = ['ready', 'leased', 'delayed'] as const

export function messageCommand(parent: Command, shell: Shell): void {
  const message = newCommand(parent, {
    usage: 'message',
    description: 'Send, receive and show messages.',
  })
  run(shell, sendCommand(message), sendMessage)
  run(shell, addReveal(receiveCommand(message)), receiveMessages)
  run(
    shell,
    storeCommand(message, {
      usage: 'delete <queue> <receipts...>',
      description: "Delete received messages by their receipts, which 'message receive' prints.",
    }),
    deleteMessages,
  )
  run(shell, addReveal(peekCommand(message)), peekMessages)
  run(shell, addReveal(tailCommand(message)), tailQueue)
}

function sendCommand(parent: Command): Command {
  const command = storeCommand(parent, {
    usage: 'send <queue> [body]',
    description: 'Send one message, or one per line. Reads the body from stdin if none is given.',
    examples: [
      `message send orders '{"id":17}'`,
      'message send orders --file order.json --attribute source=shop',
      'message send telemetry.fifo --group attempt-1 --dedup-id 42 hello',
      'message send orders --lines < orders.jsonl',
      `message send academy-dev-basic --type OCR '{"page":7}' --app src/app.ts`,
    ],
  })
  return addAppOptions(command, 'file that exports the app, to check what is sent')
    .option('--file <path>', "read the body from this file; '-' is stdin")
    .option('--lines', 'send each line of the file or stdin as a message')
    .option('--type <name>', 'enqueue a tracked job of this type; the body is its payload, JSON')
    .option(
      '--attribute <name=value>',
      "string attribute (repeatable); for a number: 'size:Number=1'",
      attribute,
    )
    .option('--group <name>', 'message group of a FIFO queue, or tenant of a standard queue')
    .option('--dedup-id <id>', 'deduplication id (FIFO queues)')
    .option(
      '--delay <duration>',
      'delay before the message can be received',
      durationIn(limits.messageDelayMs),
    )
    .option('--jsonl', 'print one line of JSON per message')
}

function receiveCommand(parent: Command): Command {
  return storeCommand(parent, {
    usage: 'receive <queue>',
    description:
      'Receive messages. Other receivers do not get them until the visibility timeout ends.',
    examples: [
      'message receive orders --max 10 --wait 20s',
      'message receive orders --delete --body',
    ],
  })
    .option(
      '--max <number>',
      'maximum number of messages',
      wholeNumberIn({ min: 1, max: 1_000 }),
      1,
    )
    .option(
      '--wait <duration>',
      'how long to wait for the first message (default: not at all)',
      durationIn(limits.receiveWaitMs),
    )
    .option(
      '--visibility <duration>',
      "how long to hide the messages (default: the queue's visibility timeout)",
      durationIn(limits.visibilityMs),
    )
    .option('--delete', 'delete the messages after printing them')
    .option('--body', 'print only the bodies, one per line')
    .option('--jsonl', 'print one line of JSON per message')
}

function peekCommand(parent: Command): Command {
  return storeCommand(parent, {
    usage: 'peek <queue>',
    description: 'Show messages without receiving them.',
    examples: ['message peek orders --limit 20', 'message peek orders --state delayed --json'],
  })
    .addOption(
      new Option(
        '--state <state>',
        `only messages in this state: ${peekStates.join(', ')}; leased means in flight`,
      )
        .default('ready')
        .argParser(oneOf(peekStates)),
    )
    .option('--limit <number>', 'maximum number to show', wholeNumberIn(limits.pageSize), 10)
    .option('--after <cursor>', 'start after this cursor, from the previous page')
    .option('--body', 'print only the bodies, one per line')
    .option('--jsonl', 'print one line of JSON per message')
}

function tailCommand(parent: Command): Command {
  const command = newCommand(parent, {
    usage: 'tail <queue>',
    description: 'Print messages as they arrive, without receiving them, until Ctrl-C.',
    examples: [
      'message tail orders',
      'message tail orders --forward-to http://127.0.0.1:3000/hook',
    ],
  })
  return addStoreOptions(command)
    .option('--from-start', 'start with the messages that are already in the queue')
    .option(
      '--forward-to <url>',
      'receive each message, POST its body to this URL, and delete it on a 2xx response',
      webAddress,
    )
    .option('--body', 'print only the bodies, one per line')
    .option('--jsonl', 'print one line of JSON per message')
}
