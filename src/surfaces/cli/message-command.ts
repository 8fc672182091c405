/** `millrace message`: sends, receives and looks at the messages of a queue. */
import { type Command, Option } from 'commander'
import { limits } from '../../core/limits.ts'
import { addReveal } from './hidden-fields.ts'
import { attribute } from './message-attribute.ts'
import { peekMessages, tailQueue } from './message-look.ts'
import { deleteMessages, receiveMessages } from './message-receive.ts'
import { sendMessage } from './message-send.ts'
import { durationIn, oneOf, webAddress, wholeNumberIn } from './option-values.ts'
import type { Shell } from './shell.ts'
import { dataOption, newCommand, run, storeCommand } from './store-command.ts'

export const peekStates = ['ready', 'leased', 'delayed'] as const

export function messageCommand(parent: Command, shell: Shell): void {
  const message = newCommand(parent, {
    usage: 'message',
    description: 'Send, receive and look at messages.',
  })
  run(shell, sendCommand(message), sendMessage)
  run(shell, addReveal(receiveCommand(message)), receiveMessages)
  run(
    shell,
    storeCommand(message, {
      usage: 'delete <queue> <receipts...>',
      description: 'Delete received messages by their receipts.',
    }),
    deleteMessages,
  )
  run(shell, addReveal(peekCommand(message)), peekMessages)
  run(shell, addReveal(tailCommand(message)), tailQueue)
}

function sendCommand(parent: Command): Command {
  return storeCommand(parent, {
    usage: 'send <queue> [body]',
    description: 'Send a message, or many; without a body it is read from stdin.',
    examples: [
      `message send orders '{"id":17}'`,
      'message send orders --file order.json --attribute source=shop',
      'message send telemetry.fifo --group attempt-1 --dedup-id 42 hello',
      'message send orders --lines < orders.jsonl',
    ],
  })
    .option('--file <path>', "file that has the body; '-' is stdin")
    .option('--lines', 'every line of the file or stdin is one message')
    .option(
      '--attribute <name=value>',
      "any number of times; a type goes behind the name: 'n:Number=1'",
      attribute,
    )
    .option('--group <name>', 'group of a FIFO queue, tenant of a standard queue')
    .option('--dedup-id <id>', 'deduplication id, on FIFO queues')
    .option('--delay <duration>', 'hold the message back for so long', durationIn(limits.delayMs))
    .option('--jsonl', 'one line of JSON for each message')
}

function receiveCommand(parent: Command): Command {
  return storeCommand(parent, {
    usage: 'receive <queue>',
    description: 'Receive messages, which hides them from others for a time.',
    examples: [
      'message receive orders --max 10 --wait 20s',
      'message receive orders --delete --body',
    ],
  })
    .option('--max <number>', 'how many at most', wholeNumberIn({ min: 1, max: 1_000 }), 1)
    .option('--wait <duration>', 'wait so long for the first one', durationIn(limits.receiveWaitMs))
    .option('--visibility <duration>', 'hide them for so long', durationIn(limits.visibilityMs))
    .option('--delete', 'delete them once they are printed')
    .option('--body', 'print the bodies and nothing else, one per line')
    .option('--jsonl', 'one line of JSON for each message')
}

function peekCommand(parent: Command): Command {
  return storeCommand(parent, {
    usage: 'peek <queue>',
    description: 'Show messages without receiving them.',
    examples: ['message peek orders --limit 20', 'message peek orders --state delayed --json'],
  })
    .addOption(
      new Option('--state <state>', `which ones: ${peekStates.join(', ')}`)
        .default('ready')
        .argParser(oneOf(peekStates)),
    )
    .option('--limit <number>', 'how many at most', wholeNumberIn(limits.pageSize), 10)
    .option('--after <text>', 'go on behind the page before')
    .option('--body', 'print the bodies and nothing else, one per line')
    .option('--jsonl', 'one line of JSON for each message')
}

function tailCommand(parent: Command): Command {
  const command = newCommand(parent, {
    usage: 'tail <queue>',
    description: 'Print messages as they come, without taking them, until Ctrl-C.',
    examples: [
      'message tail orders',
      'message tail orders --forward-to http://127.0.0.1:3000/hook',
    ],
  })
  return command
    .addOption(dataOption())
    .option('--from-start', 'begin with the messages that are there already')
    .option(
      '--forward-to <url>',
      'receive instead, POST each body there, delete it on 2xx',
      webAddress,
    )
    .option('--body', 'print the bodies and nothing else, one per line')
    .option('--jsonl', 'one line of JSON for each message')
}
