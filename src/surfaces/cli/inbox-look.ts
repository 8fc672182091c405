/** `millrace inbox list` and `show`. */

import { counted } from '../../core/counted.ts'
import { createInbox, type ListInboxOptions } from '../../operations/inbox.ts'
import { type InboxTab, tabOptions } from '../../operations/inbox-tabs.ts'
import {
  type InboxEventView,
  type InboxItemView,
  inboxCountsView,
  inboxEventView,
  inboxItemView,
} from '../../operations/inbox-view.ts'
import { age } from './age.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { hiddenIn, type RevealFlags } from './hidden-fields.ts'
import { tableWithBodies } from './message-sheet.ts'
import { boldHead } from './queue-sheet.ts'
import { type Call, inStore, type StoreFlags } from './store-command.ts'
import { printable, table } from './table.ts'
import { userName } from './user-name.ts'

export interface PersonFlags extends StoreFlags, RevealFlags {
  readonly by?: string
}

interface ListFlags extends PersonFlags {
  readonly tab: InboxTab
  readonly limit: number
  readonly after?: string
}

export async function listInbox(call: Call<ListFlags>, queue: string): Promise<void> {
  const { flags, output } = call
  const { tab, limit, after, by = userName() } = flags
  const options: ListInboxOptions = {
    limit,
    ...(after !== undefined && { after }),
    ...tabOptions(tab, by),
  }
  const [{ items, next = null }, counted, hidden] = await inStore(
    call,
    ({ backend }) => {
      const inbox = createInbox({ backend, name: queue })
      return Promise.all([
        inbox.list(options),
        inbox.counts({ by }),
        hiddenIn(backend, queue, flags),
      ])
    },
    { queue },
  )
  const rows = items.map((item) => inboxItemView(item, hidden))
  const counts = inboxCountsView(counted)
  if (flags.json) return output.json({ items: rows, counts, next })
  if (rows.length > 0) output.line(boldHead(itemTable(call, rows), output.paint))
  output.notice(`${counts.mine} mine, ${counts.unassigned} unassigned, ${counts.all} in total.`)
  if (next !== null) output.notice(`To see more, add --after ${next}`)
}

function itemTable({ shell }: Call<ListFlags>, items: readonly InboxItemView[]): string {
  const now = shell.ports.clock.now()
  const rows = items.map((item) => ({
    id: item.id,
    age: age(Math.max(0, now - Date.parse(item.sent_at))),
    receives: String(item.receive_count),
    group: item.group,
    held_by: holderOf(item),
    until: item.claim?.until ?? null,
    notes: item.notes === 0 ? null : String(item.notes),
    message: textOf(item.message),
  }))
  const columns = ['id', 'age', 'receives', 'group', 'held_by', 'until', 'notes'] as const
  const rightAligned = ['age', 'receives', 'notes'] as const
  return tableWithBodies(shell, { columns, body: 'message', rows, rightAligned })
}

function holderOf({ state, claim }: InboxItemView): string | null {
  return state === 'leased' ? '(no name)' : (claim?.by ?? null)
}

function textOf(message: unknown): string {
  return typeof message === 'string' ? message : JSON.stringify(message)
}

export async function showItem(
  { flags, output, shell }: Call<StoreFlags & RevealFlags>,
  queue: string,
  id: string,
): Promise<void> {
  const [found, events, hidden] = await inStore(
    { flags, shell },
    ({ backend }) => {
      const inbox = createInbox({ backend, name: queue })
      return Promise.all([inbox.read(id), inbox.history(id), hiddenIn(backend, queue, flags)])
    },
    { queue },
  )
  if (found === undefined && events.length === 0) throw missing(queue, id)
  const item = found ? inboxItemView(found, hidden) : null
  const history = events.map(inboxEventView)
  if (flags.json) return output.json({ item, history })
  output.line(output.paint.bold(printable(id)))
  output.line(item === null ? 'The message is no longer in the queue.' : itemSheet(item))
  if (history.length > 0) output.line(`\n${historyTable(history)}`)
}

function itemSheet(item: InboxItemView): string {
  const { state, claim } = item
  const held = claim === null ? '' : ` by ${claim.by} until ${claim.until}`
  const from = item.dead_letter && `dead letter of ${item.dead_letter.source}`
  const facts = [
    `${state}${held}`,
    `sent ${item.sent_at}`,
    `received ${counted(item.receive_count, 'time')}`,
    ...(item.group === null ? [] : [`group ${item.group}`]),
    ...(from === null ? [] : [from]),
  ]
  const message =
    typeof item.message === 'string' ? item.message : JSON.stringify(item.message, null, 2)
  // A body must not control the terminal. It is not shortened.
  const lines = message.split('\n').map(printable).join('\n')
  return `${printable(facts.join(', '))}\n\n${lines}`
}

function historyTable(history: readonly InboxEventView[]): string {
  return table(['at', 'event', 'by', 'note'], history)
}

export function missing(queue: string, id: string): CommandFailure {
  const text = `The message ${printable(id)} does not exist in ${printable(queue)}.`
  return new CommandFailure(exitCodes.notFound, text)
}
