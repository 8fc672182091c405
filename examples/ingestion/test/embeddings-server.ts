/** A local server with the protocol of OpenAI's embeddings, which fails on demand. */
import { Hono } from 'hono'
import { z } from 'zod'
import { LocalServer } from '../../shared/local-server.ts'
import { runEmbed } from '../stages/run-embed.ts'

const Request = z.strictObject({
  model: z.string().min(1),
  input: z.array(z.string().min(1)).min(1).max(2_048),
})

export class EmbeddingsServer extends LocalServer {
  readonly requests: z.infer<typeof Request>[] = []
  /** The next responses, instead of vectors. */
  readonly failures: Response[] = []

  static async start(): Promise<EmbeddingsServer> {
    const app = new Hono()
    const server: EmbeddingsServer = new EmbeddingsServer(app.fetch)
    app.post('/v1/embeddings', async (c) => {
      const message = 'You did not provide an API key.'
      if (c.req.header('authorization') !== 'Bearer key') return c.json({ error: { message } }, 401)
      const request = Request.safeParse(await c.req.json())
      if (!request.success) return c.json({ error: { message: 'invalid request' } }, 400)
      const { model, input } = request.data
      server.requests.push(request.data)
      const failure = server.failures.shift()
      if (failure !== undefined) return failure
      const data = input.map((text, index) => ({
        object: 'embedding',
        index,
        // Length 2 instead of 1, because a client must not rely on the length.
        embedding: Array.from(runEmbed(text), (value) => 2 * value),
      }))
      // In another order than the texts; clients must use `index`.
      return c.json({ object: 'list', model, data: data.reverse(), usage: { total_tokens: 1 } })
    })
    await server.listening()
    return server
  }
}
