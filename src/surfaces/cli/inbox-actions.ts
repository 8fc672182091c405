/** `millrace inbox claim`, `renew`, `note`, `resolve` and `release`. */
import {
  type ClaimedItem,
  claimRefusal,
  createInbox,
  type HandledItem,
  type Inbox,
} from '../../operations/inbox.ts'
import { inboxItemView } from '../../operations/inbox-view.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { hiddenIn } from './hidden-fields.ts'
import { missing, type PersonFlags } from './inbox-look.ts'
import { type Call, inStore, type StoreCall } from './store-command.ts'
import { printable } from './table.ts'
import { userName } from './user-name.ts'

interface LastingFlags extends PersonFlags {
  readonly for?: number
}

interface EndFlags extends PersonFlags {
  readonly note?: string
}

export async function claimItem(
  { flags, output, shell }: Call<LastingFlags>,
  queue: string,
  id?: string,
): Promise<void> {
  const wanted = { ...person(flags), ...lastingOf(flags), ...(id !== undefined && { id }) }
  const { result, hidden } = await inInbox({ flags, shell }, queue, (inbox) => inbox.claim(wanted))
  if (result.status !== 'claimed') throw notClaimed(result, queue, id)
  const view = inboxItemView(result.item, hidden)
  if (flags.json) return output.json(view)
  output.line(`Claimed ${view.id} until ${view.claim?.until}.`)
}

export async function renewItem(
  { flags, output, shell }: Call<LastingFlags>,
  queue: string,
  id: string,
): Promise<void> {
  const wanted = { ...person(flags), ...lastingOf(flags) }
  const { result, hidden } = await inInbox({ flags, shell }, queue, (inbox) =>
    inbox.renew(id, wanted),
  )
  const item = handled(result, queue, id)
  const view = item && inboxItemView(item, hidden)
  if (flags.json && view) return output.json(view)
  output.line(`Renewed until ${view?.claim?.until}.`)
}

export async function noteOnItem(
  { flags, output, shell }: Call<PersonFlags>,
  queue: string,
  id: string,
  note: string,
): Promise<void> {
  const wanted = { ...person(flags), note }
  const { result, hidden } = await inInbox({ flags, shell }, queue, (inbox) =>
    inbox.note(id, wanted),
  )
  const item = handled(result, queue, id)
  if (flags.json && item) return output.json(inboxItemView(item, hidden))
  output.line('Noted.')
}

export async function endItem(
  { flags, output, shell }: Call<EndFlags>,
  action: 'resolve' | 'release',
  place: readonly string[],
): Promise<void> {
  const [queue = '', id = ''] = place
  const { note } = flags
  const wanted = { ...person(flags), ...(note !== undefined && { note }) }
  const { result } = await inInbox({ flags, shell }, queue, (inbox) => inbox[action](id, wanted))
  handled(result, queue, id)
  const done = action === 'resolve' ? 'resolved' : 'released'
  if (flags.json) return output.json({ queue, id, by: wanted.by, [done]: true })
  output.line(action === 'resolve' ? `Resolved ${printable(id)}.` : `Released ${printable(id)}.`)
}

function inInbox<T>(
  call: StoreCall<PersonFlags>,
  queue: string,
  use: (inbox: Inbox) => Promise<T>,
): Promise<{ readonly result: T; readonly hidden: readonly string[] }> {
  return inStore(
    call,
    async ({ backend }) => ({
      hidden: await hiddenIn(backend, queue, call.flags),
      result: await use(createInbox({ backend, name: queue })),
    }),
    { queue },
  )
}

function person({ by = userName() }: PersonFlags): { readonly by: string } {
  return { by }
}

function lastingOf(flags: LastingFlags): { readonly for?: { readonly ms: number } } {
  return flags.for === undefined ? {} : { for: { ms: flags.for } }
}

const notReady = {
  delayed: 'The message is delayed and cannot be claimed yet.',
  held: 'A kill switch or a ceiling holds the message.',
  behind: 'An earlier message of the same group must be resolved first.',
} as const

function notClaimed(
  result: Exclude<ClaimedItem, { readonly status: 'claimed' }>,
  queue: string,
  id = '',
): CommandFailure {
  switch (result.status) {
    case 'none':
      return new CommandFailure(
        exitCodes.notFound,
        `No messages are waiting in ${printable(queue)}.`,
      )
    case 'gone':
      return missing(queue, id)
    case 'taken': {
      const holder = result.holder === null ? 'An unnamed receiver' : result.holder
      const until = new Date(result.until).toISOString()
      return new CommandFailure(
        exitCodes.failed,
        `${printable(holder)} has claimed the message until ${until}.`,
      )
    }
    case 'not_ready':
      return new CommandFailure(exitCodes.failed, notReady[result.because])
  }
}

function handled(
  result: HandledItem,
  queue: string,
  id: string,
): Extract<HandledItem, { readonly status: 'done' }>['item'] {
  if (result.status === 'done') return result.item
  if (result.status === 'gone') throw missing(queue, id)
  throw new CommandFailure(exitCodes.failed, printable(claimRefusal(result)))
}
