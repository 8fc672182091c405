/** Creates documents in the state pending, and returns URLs to upload them to. */
import { randomUUID } from 'node:crypto'
import type { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { z } from 'zod'
import { sourceKey } from '../objects/object-key.ts'
import { type SourceExt, sourceBytesMax, sourceTypes } from '../stages/source-types.ts'
import { type ApiEnv, type ApiSetup, refusal } from './create-api.ts'

/** Long enough for 100 MB on a slow connection, and much shorter than the janitor's limit. */
export const uploadMs: number = 15 * 60_000

const requestBytesMax = 4_096

const UploadRequest = z.strictObject({
  filename: z
    .string()
    .min(1)
    .max(255)
    // Names are only shown and never used as paths, so one with a path is a mistake or an attack.
    .regex(/^[^/\\\p{Cc}\p{Cf}]+$/u, 'expected a name without folders or control characters')
    .refine((name) => !/^\.+$/.test(name.trim()), 'expected a name'),
  fileSize: z.int().min(0),
})

export function uploadRoutes(app: Hono<ApiEnv>, setup: ApiSetup): void {
  const { library, uploads, environment, uploadBytesMax: bytesMax = sourceBytesMax } = setup
  const limit = bodyLimit({ maxSize: requestBytesMax })

  app.post('/api/kb/:kbId/upload-url', limit, async (c) => {
    const request = UploadRequest.safeParse(await c.req.json().catch(() => undefined))
    if (!request.success) return refusal(c, 400, faultsOf(request.error))
    const { filename, fileSize } = request.data
    const ext = extensionOf(filename)
    if (ext === undefined) return refusal(c, 415, 'Only .pdf and .docx files can be uploaded.')
    if (fileSize > bytesMax) return refusal(c, 413, tooLarge(bytesMax))

    const { organizationId } = c.get('caller')
    const kbId = c.req.param('kbId')
    const documentId = randomUUID()
    const objectKey = sourceKey({ organizationId, kbId, documentId, ext })
    const ticket = await uploads.ticketFor({
      key: objectKey,
      contentType: sourceTypes[ext],
      bytesMax,
      expiresInMs: uploadMs,
    })
    await library.addDocument({
      id: documentId,
      organizationId,
      kbId,
      filename,
      sourceExt: ext,
      sourceObjectKey: objectKey,
      extractorModel: environment.EXTRACTOR_MODEL,
    })
    const { url: uploadUrl, ...upload } = ticket
    return c.json({ uploadUrl, objectKey, documentId, upload }, 201)
  })
}

export function tooLarge(bytesMax: number): string {
  return `The file is larger than ${Math.floor(bytesMax / 2 ** 20)} MB.`
}

function extensionOf(filename: string): SourceExt | undefined {
  const [, ext = ''] = /\.([a-z]+)$/.exec(filename.toLowerCase()) ?? []
  return ext === 'pdf' || ext === 'docx' ? ext : undefined
}

/** Describes what was expected, without the given values. */
function faultsOf({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`).join('; ')
}
