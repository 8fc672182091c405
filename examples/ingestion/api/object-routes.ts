/**
 * Receives uploads to signed URLs if files are stored locally, and the notifications of S3 if they are in S3.
 * In both cases, a new object becomes a job.
 */
import { timingSafeEqual } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { z } from 'zod'
import { ObjectExists, TooLarge } from '../objects/file-object-store.ts'
import { isObjectKey } from '../objects/object-key.ts'
import { objectCreated } from '../runtime/object-created.ts'
import { type ApiEnv, type ApiSetup, missing, refusal } from './create-api.ts'
import { tooLarge } from './upload-routes.ts'

const Key = z.string().max(3_000)

/** The format for topics and queues: several objects, with form-encoded keys. */
const Records = z
  .object({
    Records: z.array(
      z.object({ eventName: z.string(), s3: z.object({ object: z.object({ key: Key }) }) }),
    ),
  })
  .transform((notification) =>
    notification.Records.filter(({ eventName }) => /^(?:s3:)?ObjectCreated:/.test(eventName)).map(
      ({ s3 }) => decoded(s3.object.key),
    ),
  )

/** The format of EventBridge: one object, with its key as it is. */
const BridgedEvent = z
  .object({ 'detail-type': z.string(), detail: z.object({ object: z.object({ key: Key }) }) })
  .transform(({ 'detail-type': type, detail }) =>
    type === 'Object Created' ? [detail.object.key] : [],
  )

/** The keys of the created objects. */
const Notification = z.union([Records, BridgedEvent])
const notificationBytesMax = 256 * 1_024

export function objectRoutes(app: Hono<ApiEnv>, setup: ApiSetup): void {
  putRoute(app, setup)
  app.post('/events/object-created', bodyLimit({ maxSize: notificationBytesMax }), async (c) => {
    const { EVENTS_SECRET } = setup.environment
    if (EVENTS_SECRET === undefined) return missing(c)
    const given = c.req.header('authorization') ?? ''
    if (!isSame(given, `Bearer ${EVENTS_SECRET}`)) {
      return refusal(c, 401, 'The secret for notifications is required.')
    }
    const notification = Notification.safeParse(await c.req.json().catch(() => undefined))
    if (!notification.success) return refusal(c, 400, 'Expected an S3 notification.')
    let documents = 0
    for (const key of notification.data) {
      if (key !== undefined && (await objectCreated(setup, key))) documents += 1
    }
    return c.json({ documents }, 202)
  })
}

function putRoute(app: Hono<ApiEnv>, setup: ApiSetup): void {
  const { uploadFolder, signer, log } = setup
  app.put('/objects/*', async (c) => {
    if (uploadFolder === undefined) return missing(c)
    const key = c.req.path.slice('/objects/'.length)
    if (!isObjectKey(key)) return refusal(c, 403, 'The upload URL is not valid.')
    const verified = signer.verify(key, c.req.query())
    if ('refusal' in verified) {
      const isLate = verified.refusal === 'expired'
      return refusal(
        c,
        403,
        isLate ? 'The upload URL has expired.' : 'The upload URL is not valid.',
      )
    }
    const { contentType, bytesMax } = verified.grant
    if (c.req.header('content-type') !== contentType) {
      return refusal(c, 415, `The content type must be ${contentType}.`)
    }
    if (Number(c.req.header('content-length') ?? 0) > bytesMax) return cutOff(tooLarge(bytesMax))
    try {
      await uploadFolder.receive(key, bodyOf(c.req.raw), bytesMax)
    } catch (error) {
      if (error instanceof TooLarge) return cutOff(tooLarge(bytesMax))
      if (error instanceof ObjectExists) return refusal(c, 409, 'The file was already uploaded.')
      if (!c.req.raw.signal.aborted) throw error
      // The client disconnected, which is not a server error. It may upload again.
      log.info({ key }, 'upload interrupted')
      return refusal(c, 400, 'The upload was interrupted.')
    }
    await objectCreated(setup, key)
    return c.body(null, 200)
  })
}

/** Closes the connection, because the rest of the upload is not needed. */
function cutOff(error: string): Response {
  return Response.json({ error }, { status: 413, headers: { connection: 'close' } })
}

function bodyOf({ body }: Request): Readable {
  // The web stream and Node's stream are the same at run time.
  return body === null ? Readable.from([]) : Readable.fromWeb(body as ReadableStream)
}

function decoded(key: string): string | undefined {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.byteLength === b.byteLength && timingSafeEqual(a, b)
}
