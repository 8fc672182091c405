/**
 * A local server with the part of S3's protocol that uploads need: PutObject, GetObject, HeadObject, and forms
 * with a signed policy, which it checks as S3 does. Objects are in memory.
 */
import { createHmac } from 'node:crypto'
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import { LocalServer } from '../../shared/local-server.ts'

export const credentials = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret-of-the-test' }

interface StoredObject {
  readonly content: Uint8Array<ArrayBuffer>
  readonly contentType: string
}

const Policy = z.object({
  expiration: z.string(),
  conditions: z.array(
    z.union([
      z.tuple([z.literal('content-length-range'), z.number(), z.number()]),
      z.tuple([z.literal('eq'), z.string(), z.string()]),
      z.record(z.string(), z.string()),
    ]),
  ),
})
type Policy = z.infer<typeof Policy>

export class S3Server implements AsyncDisposable {
  /** Keys have the form `bucket/key`. */
  readonly objects = new Map<string, StoredObject>()
  readonly #server: LocalServer
  readonly #now: () => number

  private constructor(now: () => number) {
    this.#now = now
    this.#server = new LocalServer(this.#app().fetch)
  }

  static async start(now: () => number = Date.now): Promise<S3Server> {
    const server = new S3Server(now)
    await server.#server.listening()
    return server
  }

  get url(): string {
    return this.#server.url
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
  }

  #app(): Hono {
    const app = new Hono()
    app.post('/:bucket/', (c) => this.#form(c))
    app.post('/:bucket', (c) => this.#form(c))
    app.use('*', async (c, next) => {
      const signed = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/`
      if (!c.req.header('authorization')?.startsWith(signed)) return fault(c, 403, 'AccessDenied')
      await next()
      return undefined
    })
    app.put('/:bucket/*', async (c) => {
      const content = new Uint8Array(await c.req.arrayBuffer())
      const contentType = c.req.header('content-type') ?? 'binary/octet-stream'
      this.objects.set(c.req.path.slice(1), { content, contentType })
      return c.body(null, 200, { etag: '"0"' })
    })
    // Hono handles HEAD here too, without the body.
    app.get('/:bucket/*', (c) => {
      const object = this.objects.get(c.req.path.slice(1))
      if (object === undefined) return fault(c, 404, 'NoSuchKey')
      const { content, contentType } = object
      const headers = { 'content-type': contentType, 'content-length': `${content.byteLength}` }
      return c.body(content, 200, headers)
    })
    return app
  }

  async #form(c: Context): Promise<Response> {
    const form = await c.req.formData()
    const fields = new Map([...form].map(([name, value]) => [name.toLowerCase(), value]))
    const file = fields.get('file')
    const policy = String(fields.get('policy') ?? '')
    if (!(file instanceof File)) return fault(c, 400, 'InvalidArgument')
    if (
      signature(policy, String(fields.get('x-amz-credential'))) !== fields.get('x-amz-signature')
    ) {
      return fault(c, 403, 'SignatureDoesNotMatch')
    }
    const read = Policy.parse(JSON.parse(Buffer.from(policy, 'base64').toString()))
    const broken = this.#broken(read, fields, file.size)
    if (broken !== undefined) return fault(c, broken === 'EntityTooLarge' ? 400 : 403, broken)
    const content = new Uint8Array(await file.arrayBuffer())
    const contentType = String(fields.get('content-type'))
    this.objects.set(`${c.req.param('bucket')}/${fields.get('key')}`, { content, contentType })
    return c.body(null, 204)
  }

  #broken(
    { expiration, conditions }: Policy,
    fields: ReadonlyMap<string, unknown>,
    size: number,
  ): string | undefined {
    if (Date.parse(expiration) <= this.#now()) return 'AccessDenied'
    for (const condition of conditions) {
      if (!Array.isArray(condition)) {
        const [[name = '', value] = []] = Object.entries(condition)
        if (name !== 'bucket' && fields.get(name.toLowerCase()) !== value) return 'AccessDenied'
      } else if (condition[0] === 'eq') {
        const name = condition[1].slice(1).toLowerCase()
        if (fields.get(name) !== condition[2]) return 'AccessDenied'
      } else if (size < condition[1] || size > condition[2]) {
        return 'EntityTooLarge'
      }
    }
    return undefined
  }
}

/** Signature version 4 of a policy, with a key derived from the secret and the scope. */
function signature(policy: string, credential: string): string {
  const [, date = '', region = '', service = ''] = credential.split('/')
  const sign = (key: string | Buffer, text: string): Buffer =>
    createHmac('sha256', key).update(text).digest()
  const parts = [date, region, service, 'aws4_request']
  const key = parts.reduce<string | Buffer>(sign, `AWS4${credentials.secretAccessKey}`)
  return sign(key, policy).toString('hex')
}

function fault(c: Context, status: 400 | 403 | 404, code: string): Response {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`
  return c.body(body, status, { 'content-type': 'application/xml' })
}
