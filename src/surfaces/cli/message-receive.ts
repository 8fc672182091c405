/** `millrace message receive` and `delete`. */

import type { Backend } from '../../backends/backend.ts'
import { counted } from '../../core/counted.ts'
import { deliveryView } from '../../operations/message-view.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { hiddenIn, type RevealFlags } from './hidden-fields.ts'
import { printMessages } from './message-sheet.ts'
import { type Call, inStore, type StoreFlags } from './store-command.ts'
import { printable } from './table.ts'

interface ReceiveFlags extends StoreFlags, RevealFlags {
  readonly max: number
  readonly wait?: number
  readonly visibility?: number
  readonly delete?: true
  readonly body?: true
  readonly jsonl?: true
}

export async function receiveMessages(call: Call<ReceiveFlags>, queue: string): Promise<void> {
  const { flags, output } = call
  const { max, wait, visibility } = flags
  await inStore(
    call,
    async ({ backend }) => {
      const hidden = await hiddenIn(backend, queue, flags)
      if (flags.delete && hidden.length > 0) {
        const message = `--delete would lose the hidden fields of ${printable(queue)}. Add --reveal.`
        throw new CommandFailure(exitCodes.usage, message)
      }
      const deliveries = await backend.receive({
        queue,
        max,
        waitMs: wait ?? 0,
        ...(visibility !== undefined && { visibilityMs: visibility }),
      })
      const messages = deliveries.map((delivery) => deliveryView(delivery, hidden))
      printMessages(call, { messages })
      if (messages.length === 0) return
      const receipts = messages.map(({ receipt }) => receipt)
      // Only after printing: a message that was not printed must be delivered again.
      if (flags.delete) return acknowledge(backend, queue, receipts)
      if (flags.json || flags.jsonl) return
      output.notice(`Hidden from other receivers until ${messages[0]?.due_at}.`)
      if (!flags.body)
        output.notice(`To delete one: millrace message delete ${printable(queue)} <receipt>`)
    },
    { queue },
  )
}

export async function deleteMessages(
  { flags, output, shell }: Call<StoreFlags>,
  queue: string,
  receipts: readonly string[],
): Promise<void> {
  await inStore({ flags, shell }, ({ backend }) => acknowledge(backend, queue, receipts), { queue })
  if (flags.json) output.json({ queue, deleted: receipts.length })
  else output.line(`Deleted ${counted(receipts.length, 'message')}.`)
}

async function acknowledge(
  backend: Pick<Backend, 'settle'>,
  queue: string,
  receipts: readonly string[],
): Promise<void> {
  const outcome = { kind: 'acknowledge' } as const
  const settlements = receipts.map((receipt) => ({ receipt, outcome }))
  const results = await backend.settle({ queue, settlements })
  const lost = results.filter(({ status }) => status !== 'settled')
  const [first] = lost
  if (first === undefined) return
  const reason = first.status === 'refused' ? first.error.message : `it is ${first.status}`
  const message = `${lost.length} of ${counted(results.length, 'message')} could not be deleted: ${reason}.`
  const exitCode = lost.length < results.length ? exitCodes.partlyDone : exitCodes.failed
  throw new CommandFailure(exitCode, message.replace(/\.\.$/, '.'))
}
