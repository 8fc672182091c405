/** `millrace message peek` and `tail`: shows, follows or forwards messages. */

import { counted } from '../../core/counted.ts'
import type { MessageState } from '../../core/message.ts'
import { inspectorOf } from '../../operations/inspect.ts'
import { messageView } from '../../operations/message-view.ts'
import { tailMessages } from '../../operations/tail-messages.ts'
import { hiddenIn, type RevealFlags } from './hidden-fields.ts'
import { forwardQueue } from './message-forward.ts'
import { type MessageFlags, printMessage, printMessages } from './message-sheet.ts'
import type { Shell } from './shell.ts'
import { type Call, inStore, type StoreFlags } from './store-command.ts'
import type { StoreChoice } from './store-options.ts'

interface PeekFlags extends StoreFlags, MessageFlags, RevealFlags {
  readonly state: MessageState
  readonly limit: number
  readonly after?: string
}

export interface TailFlags extends StoreChoice, MessageFlags, RevealFlags {
  readonly fromStart?: true
  readonly forwardTo?: string
}

export async function peekMessages(call: Call<PeekFlags>, queue: string): Promise<void> {
  const { state, limit, after } = call.flags
  const request = { state, limit, ...(after !== undefined && { after }) }
  const page = await inStore(
    call,
    async ({ backend }) => {
      const hidden = await hiddenIn(backend, queue, call.flags)
      const { items, next = null } = await inspectorOf(backend, queue).peek(request)
      return { messages: items.map((message) => messageView(message, hidden)), next }
    },
    { queue },
  )
  printMessages(call, page)
}

export async function tailQueue(call: Call<TailFlags>, queue: string): Promise<void> {
  const { flags, output, shell } = call
  const { forwardTo, fromStart = false } = flags
  const stopped = stopSignal(shell)
  await inStore(
    call,
    async ({ backend }) => {
      if (forwardTo !== undefined) {
        return forwardQueue(call, { backend, queue, url: forwardTo, signal: stopped })
      }
      let missed = 0
      const messages = tailMessages({
        backend,
        queue,
        fromStart,
        timers: shell.ports.timers,
        onFollowing: () => output.notice(`Following ${queue}. Press Ctrl-C to stop.`),
        onMissed: (count) => {
          missed = count
        },
        signal: stopped,
      })
      const hidden = await hiddenIn(backend, queue, flags)
      for await (const message of messages) printMessage(call, messageView(message, hidden))
      if (missed > 0)
        output.notice(`${counted(missed, 'message')} came and went between two polls.`)
    },
    { queue },
  )
}

function stopSignal(shell: Shell): AbortSignal {
  const stopping = new AbortController()
  shell.onStop(() => stopping.abort())
  return stopping.signal
}
