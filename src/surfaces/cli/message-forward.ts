/** Forwards messages over HTTP. A 2xx response deletes the message; otherwise it is retried later. */
import type { Backend, Delivery } from '../../backends/backend.ts'
import { forwardMessages } from '../../operations/forward-messages.ts'
import type { MessageFlags } from './message-sheet.ts'
import type { Call } from './store-command.ts'

export interface ForwardSetup {
  readonly backend: Pick<Backend, 'receive' | 'settle' | 'readQueue'>
  readonly queue: string
  readonly url: string
  readonly signal: AbortSignal
}

export async function forwardQueue(call: Call<MessageFlags>, setup: ForwardSetup): Promise<void> {
  const { backend, queue, url, signal } = setup
  call.output.notice(`Forwarding ${queue} to ${url}. Press Ctrl-C to stop.`)
  await forwardMessages({
    backend,
    queue,
    signal,
    give: (delivery) => post(call, setup, delivery),
  })
}

async function post(
  { flags, output, shell }: Call<MessageFlags>,
  { queue, url }: ForwardSetup,
  delivery: Delivery,
): Promise<boolean> {
  const { clock, timers } = shell.ports
  const leaseOver = new AbortController()
  const cancel = timers.after(delivery.leaseExpiresAt - delivery.leasedAt, () => leaseOver.abort())
  const startedAt = clock.monotonic()
  const answer = await statusOf(
    fetch(url, {
      method: 'POST',
      body: delivery.body,
      headers: headersOf(queue, delivery),
      // The user did not choose the target of a redirect.
      redirect: 'manual',
      signal: leaseOver.signal,
    }),
  )
  cancel()
  const duration_ms = Math.round(clock.monotonic() - startedAt)
  const deleted = typeof answer === 'number' && answer >= 200 && answer < 300
  const { id, receiveCount: receive_count } = delivery
  if (flags.jsonl) output.jsonLine({ id, receive_count, answer, duration_ms, deleted })
  else output.line(`${answer}  ${id}  ${duration_ms}ms${deleted ? '' : '  stays in the queue'}`)
  return deleted
}

/** The status of the response, or a word for why there is none. */
async function statusOf(request: Promise<Response>): Promise<number | string> {
  try {
    const response = await request
    await response.body?.cancel()
    return response.status
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return 'timeout'
    return error instanceof Error ? reasonOf(error.cause) : 'unreachable'
  }
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unreachable'
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
}

function headersOf(
  queue: string,
  { id, body, receiveCount, group }: Delivery,
): Record<string, string> {
  return {
    'content-type': isJson(body) ? 'application/json' : 'text/plain; charset=utf-8',
    'x-millrace-queue': queue,
    'x-millrace-message-id': id,
    'x-millrace-receive-count': String(receiveCount),
    ...(group !== null && { 'x-millrace-group': group }),
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
