/** Prints messages: as a table, as JSON, or the bodies alone. */
import type { DeliveryView, MessageView } from '../../operations/message-view.ts'
import { age } from './age.ts'
import { boldHead } from './queue-sheet.ts'
import type { Shell } from './shell.ts'
import type { Call } from './store-command.ts'
import { printable, table } from './table.ts'

export interface MessageFlags {
  readonly json?: true
  readonly jsonl?: true
  readonly body?: true
}

export interface MessagePage {
  readonly messages: readonly (MessageView | DeliveryView)[]
  readonly next?: string | null
}

export function printMessages(call: Call<MessageFlags>, page: MessagePage): void {
  const { flags, output } = call
  const { messages, next } = page
  if (flags.json) {
    output.json(page)
    return
  }
  if (flags.jsonl || flags.body) {
    for (const message of messages) printMessage(call, message)
  } else if (messages.length === 0) {
    output.notice('No messages found.')
  } else {
    output.line(boldHead(messageTable(call, messages), output.paint))
  }
  if (next) output.notice(`To see more, add --after ${next}`)
}

/** One message of a stream. */
export function printMessage(
  { flags, output, shell }: Call<MessageFlags>,
  message: MessageView,
): void {
  const { id, sent_at, group, body } = message
  if (flags.jsonl) {
    output.jsonLine(message)
  } else if (flags.body) {
    // A program gets the exact body. On a terminal, control characters are replaced.
    output.line(shell.out.isTerminal ? printable(body) : body)
  } else {
    const from = group === null ? '' : `${printable(group)}  `
    output.line(`${output.paint.dim(`${sent_at}  ${id}`)}  ${from}${printable(body)}`)
  }
}

/** Width of the body when the width of the terminal is not known. */
const bodyWidth = 80
const bodyWidthMin = 20

function messageTable({ shell }: Call<MessageFlags>, messages: MessagePage['messages']): string {
  const now = shell.ports.clock.now()
  const rows = messages.map((message) => ({
    id: message.id,
    age: age(Math.max(0, now - Date.parse(message.sent_at))),
    receives: String(message.receive_count),
    group: message.group,
    due_at: message.due_at,
    source: message.dead_letter?.source ?? null,
    reason: message.dead_letter?.reason ?? null,
    receipt: 'receipt' in message ? message.receipt : null,
    body: message.body,
  }))
  const columns = [
    'id',
    'age',
    'receives',
    'group',
    'due_at',
    'source',
    'reason',
    'receipt',
  ] as const
  const rightAligned = ['age', 'receives'] as const
  return tableWithBodies(shell, { columns, body: 'body', rows, rightAligned })
}

export interface TableWithBodies<Column extends string, Body extends string> {
  readonly columns: readonly Column[]
  /** The last column. It gets the width that the others leave. */
  readonly body: Body
  readonly rows: readonly (Readonly<Record<Column, string | null>> &
    Readonly<Record<Body, string>>)[]
  readonly rightAligned: readonly Column[]
}

export function tableWithBodies<Column extends string, Body extends string>(
  { out }: Pick<Shell, 'out'>,
  { columns, body, rows, rightAligned }: TableWithBodies<Column, Body>,
): string {
  const narrow = table(columns, rows, { rightAligned })
  const taken = Math.max(...narrow.split('\n').map((line) => line.length)) + 2
  const left = Math.max(bodyWidthMin, out.isTerminal ? out.columns - taken : bodyWidth)
  const cutRows = rows.map((row) => ({ ...row, [body]: cut(row[body], left) }))
  return table<Column | Body>([...columns, body], cutRows, { rightAligned })
}

function cut(text: string, width: number): string {
  const shown = printable(text.slice(0, width + 1))
  return shown.length > width ? `${shown.slice(0, width - 1)}…` : shown
}
