/** The webhooks of the three channels. Only signed requests are processed. */
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { Logger } from 'millrace'
import { emailSignatureHeader, isEmailSignature } from './email-signature.ts'
import { fromEmail, fromTwilio, type IncomingMessage } from './incoming-message.ts'
import { type StagingResult, type StagingSetup, stageMessage } from './stage-message.ts'
import { isTwilioSignature } from './twilio-signature.ts'

export interface WebhookSettings {
  /** The public base URL, which is part of what providers sign. */
  readonly publicUrl: string
  readonly twilioAuthToken: string
  readonly emailSecret: string
}

export interface ApiSetup extends StagingSetup {
  readonly settings: WebhookSettings
  readonly log: Logger
}

const bodyBytesMax = 128 * 1_024

/** `staged` or `duplicate`. */
export const statusHeader = 'x-message-status'

const emptyTwiml = '<?xml version="1.0" encoding="UTF-8"?><Response/>'
const xml = { 'content-type': 'text/xml' } as const
const form = 'application/x-www-form-urlencoded'

/** 4xx if a retry cannot help; 5xx makes the provider retry. */
const statusOf = {
  staged: 200,
  duplicate: 200,
  unknown_conversation: 404,
  project_inactive: 422,
  channel_not_allowed: 422,
} as const satisfies Record<StagingResult['status'], number>

export function createApi(setup: ApiSetup): Hono {
  const { log } = setup
  const api = new Hono()
  api.onError((error, c) => {
    log.error({ path: c.req.path, error: error.name }, 'webhook failed')
    return c.json({ error: 'unavailable' }, 503)
  })
  api.get('/healthz', (c) => c.json({ status: 'ok' }))
  const onError = (c: Context): Response => refuse(setup, c, [413, 'body_too_large'])
  api.use('/webhooks/*', bodyLimit({ maxSize: bodyBytesMax, onError }))
  api.post('/webhooks/whatsapp', (c) => takeForm(setup, c, 'whatsapp'))
  api.post('/webhooks/sms', (c) => takeForm(setup, c, 'sms'))
  api.post('/webhooks/email', (c) => takeEmail(setup, c))
  return api
}

async function takeForm(
  setup: ApiSetup,
  c: Context,
  channel: 'whatsapp' | 'sms',
): Promise<Response> {
  if (!isOfType(c, form)) return refuse(setup, c, [415, 'form_expected'])
  const { publicUrl, twilioAuthToken } = setup.settings
  const fields = [...new URLSearchParams(await c.req.text())]
  const url = `${publicUrl}${c.req.path}${new URL(c.req.url).search}`
  const given = c.req.header('x-twilio-signature') ?? ''
  const isSigned = isTwilioSignature(twilioAuthToken, { url, fields }, given)
  if (!isSigned) return refuse(setup, c, [403, 'signature_wrong'])
  return stage(setup, c, fromTwilio(channel, Object.fromEntries(fields)))
}

async function takeEmail(setup: ApiSetup, c: Context): Promise<Response> {
  if (!isOfType(c, 'application/json')) return refuse(setup, c, [415, 'json_expected'])
  const body = await c.req.text()
  const given = c.req.header(emailSignatureHeader) ?? ''
  const nowMs = setup.now().getTime()
  const isSigned = isEmailSignature(setup.settings.emailSecret, body, { given, nowMs })
  if (!isSigned) return refuse(setup, c, [403, 'signature_wrong'])
  return stage(setup, c, fromEmail(parsed(body)))
}

async function stage(
  setup: ApiSetup,
  c: Context,
  message: IncomingMessage | undefined,
): Promise<Response> {
  if (message === undefined) return refuse(setup, c, [400, 'fields_missing_or_wrong'])
  const result = await stageMessage(setup, message)
  const { sid, channel } = message
  const status = statusOf[result.status]
  const facts = { channel, message_sid: sid, ...result }
  if (status !== 200) {
    setup.log.warn(facts, 'message refused')
    return c.json({ error: result.status }, status)
  }
  setup.log.info(facts, 'message received')
  c.header(statusHeader, result.status)
  // Twilio accepts only XML. An empty document sends no immediate reply.
  return channel === 'email' ? c.json(result) : c.body(emptyTwiml, 200, xml)
}

function refuse(
  { log }: ApiSetup,
  c: Context,
  [status, error]: readonly [400 | 403 | 413 | 415, string],
): Response {
  log.warn({ path: c.req.path, error }, 'webhook refused')
  return c.json({ error }, status)
}

function isOfType({ req }: Context, type: string): boolean {
  return req.header('content-type')?.split(';')[0]?.trim().toLowerCase() === type
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
