/** Calls the webhooks as Twilio and an e-mail provider do, with valid signatures. */
import { z } from 'zod'
import { statusHeader } from '../webhooks/create-api.ts'
import { emailSignature, emailSignatureHeader } from '../webhooks/email-signature.ts'
import { twilioSignature } from '../webhooks/twilio-signature.ts'

export interface ProviderSetup {
  /** The base URL of the webhooks. */
  readonly url: string
  readonly twilioAuthToken: string
  readonly emailSecret: string
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: (request: Request) => Response | Promise<Response>
  readonly now?: () => number
}

export interface TextMessage {
  readonly channel: 'whatsapp' | 'sms'
  readonly sid: string
  readonly from: string
  readonly to: string
  readonly body: string
}

export interface EmailMessage {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly text: string
}

export interface WebhookAnswer {
  readonly status: number
  /** `staged`, `duplicate`, or the error code. */
  readonly outcome: string
  readonly body: string
}

const Refusal = z.object({ error: z.string() })

export class Provider {
  readonly #setup: ProviderSetup

  constructor(setup: ProviderSetup) {
    this.#setup = setup
  }

  deliver({ channel, sid, from, to, body }: TextMessage): Promise<WebhookAnswer> {
    const { url, twilioAuthToken } = this.#setup
    const fields = Object.entries({ MessageSid: sid, From: from, To: to, Body: body })
    const path = `/webhooks/${channel}`
    const signature = twilioSignature(twilioAuthToken, { url: url + path, fields })
    const form = new URLSearchParams(fields).toString()
    return this.post(path, form, {
      'content-type': 'application/x-www-form-urlencoded',
      'x-twilio-signature': signature,
    })
  }

  deliverEmail({ id, from, to, text }: EmailMessage): Promise<WebhookAnswer> {
    const { emailSecret, now = Date.now } = this.#setup
    const body = JSON.stringify({ message_id: id, from, to, text })
    return this.post('/webhooks/email', body, {
      'content-type': 'application/json',
      [emailSignatureHeader]: emailSignature(emailSecret, body, now()),
    })
  }

  async post(
    path: string,
    body: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<WebhookAnswer> {
    const { url, fetch: call = fetch } = this.#setup
    const response = await call(new Request(url + path, { method: 'POST', body, headers }))
    const answer = await response.text()
    const staged = response.headers.get(statusHeader)
    const outcome = staged ?? Refusal.parse(JSON.parse(answer)).error
    return { status: response.status, outcome, body: answer }
  }
}
