/**
 * The HTTP routes for users. A request stores its data, enqueues the work and returns 202. It never waits for
 * a worker.
 */
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { type Logger, MillraceError } from 'millrace'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { z } from 'zod'
import type { Caller, Identity } from './identity.ts'
import type { JobQueueService } from './job-queue-service.ts'
import type { Services } from './services/services.ts'

export interface RoutesSetup {
  readonly services: Services
  readonly queue: JobQueueService
  readonly identity: Identity
  readonly log: Logger
}

interface Env {
  readonly Variables: { readonly caller: Caller }
}

const uploadBytesMax = 10 * 2 ** 20
const NewCourse = z.strictObject({
  topic: z.string().min(1).max(200),
  modules: z.number().int().min(1).max(20),
})
const Task = z.strictObject({ task: z.enum(['summary', 'keywords']) })
const Title = z.string().min(1).max(200)

export function routes(setup: RoutesSetup): Hono<Env> {
  const app = new Hono<Env>()
  app.use(authenticate(setup.identity), limitPosts())
  documentRoutes(app, setup)
  courseRoutes(app, setup)
  app.get('/notifications', (c) => {
    const items = setup.services.notifications.listOf(c.get('caller').userId)
    return c.json({ items })
  })
  app.notFound(missing)
  app.onError((error, c) => {
    const retryable = error instanceof MillraceError && error.retryable
    setup.log.error({ code: retryable ? error.code : error.name }, 'request failed')
    if (!retryable) return c.json({ error: 'The request failed.' }, 500)
    return c.json({ error: 'Try again a little later.' }, 503, { 'Retry-After': '5' })
  })
  return app
}

function documentRoutes(app: Hono<Env>, { services, queue }: RoutesSetup): void {
  const { documents, search, users } = services
  const limit = bodyLimit({
    maxSize: uploadBytesMax,
    onError: (c) => c.json({ error: 'The file is too large.' }, 413),
  })

  app.post('/documents', limit, async (c) => {
    const title = Title.safeParse(c.req.query('title'))
    const { body } = c.req.raw
    if (!title.success || body === null) return invalid(c)
    const owner = c.get('caller').userId
    // The web stream and Node's stream are the same at run time.
    const content = Readable.fromWeb(body as ReadableStream)
    const id = await documents.add({ owner, title: title.data, content })
    const job = await orUndo(
      async () => {
        await queue.enqueueIndexingJob(
          { entity_type: 'document', entity_id: id },
          { idempotencyKey: `index:${id}:title`, owner },
        )
        return queue.enqueueOcrJob({ document_id: id }, { idempotencyKey: `ocr:${id}`, owner })
      },
      () => documents.delete(id),
    )
    return c.json({ document_id: id, ...job }, 202)
  })

  app.get('/documents/:id', (c) => {
    const document = documents.find(c.req.param('id'))
    if (document?.owner !== c.get('caller').userId) return missing(c)
    return c.json({ document_id: document.id, title: document.title, text: document.text })
  })

  app.delete('/documents/:id', async (c) => {
    const document = documents.find(c.req.param('id'))
    if (document?.owner !== c.get('caller').userId) return missing(c)
    await documents.delete(document.id)
    const job = await queue.enqueueIndexingJob(
      { entity_type: 'document', entity_id: document.id },
      { idempotencyKey: `index:${document.id}:deleted`, owner: document.owner },
    )
    return c.json(job, 202)
  })

  app.post('/documents/:id/ai', async (c) => {
    const document = documents.find(c.req.param('id'))
    if (document?.owner !== c.get('caller').userId) return missing(c)
    const task = Task.safeParse(await c.req.json().catch(() => undefined))
    if (!task.success) return invalid(c)
    if (users.creditsOf(document.owner) === 0) return c.json({ error: 'No credits left.' }, 402)
    const job = await queue.enqueueAiProcessingJob(
      { document_id: document.id, ...task.data },
      { idempotencyKey: `${task.data.task}:${document.id}`, owner: document.owner },
    )
    return c.json(job, 202)
  })

  app.get('/search', (c) => {
    const owner = c.get('caller').userId
    return c.json({ items: search.search({ owner, words: c.req.query('q') ?? '' }) })
  })
}

function courseRoutes(app: Hono<Env>, { services: { courses }, queue }: RoutesSetup): void {
  app.post('/courses', async (c) => {
    const course = NewCourse.safeParse(await c.req.json().catch(() => undefined))
    if (!course.success) return invalid(c)
    const owner = c.get('caller').userId
    const id = courses.create({ owner, ...course.data })
    const job = await orUndo(
      () => queue.startCourseGeneration(id, owner),
      () => courses.end(id, 'failed'),
    )
    return c.json({ course_id: id, ...job }, 202)
  })

  app.get('/courses/:id', (c) => {
    const course = courses.find(c.req.param('id'))
    if (course?.owner !== c.get('caller').userId) return missing(c)
    const modules = courses.modulesOf(course.id).map(({ title, lessons, exam }) => ({
      title,
      has_lessons: lessons !== null,
      has_exam: exam !== null,
    }))
    const { topic, status } = course
    return c.json({ course_id: course.id, topic, status, modules })
  })
}

/** Deletes the upload if its job cannot be enqueued. The caller gets the error and can try again. */
async function orUndo<Answer>(
  enqueue: () => Promise<Answer>,
  undo: () => Promise<void> | void,
): Promise<Answer> {
  try {
    return await enqueue()
  } catch (error) {
    await undo()
    throw error
  }
}

function authenticate(identity: Identity): MiddlewareHandler<Env> {
  return async (c, next) => {
    const caller = await identity.callerOf(c.req.header('authorization'))
    if (caller === undefined) {
      return c.json({ error: 'A valid token is needed.' }, 401, { 'WWW-Authenticate': 'Bearer' })
    }
    c.set('caller', caller)
    await next()
    return undefined
  }
}

/** Requests are cheap, but the work behind them is not. */
const postsPerMinute = 60

function limitPosts(): MiddlewareHandler<Env> {
  const limiter = new RateLimiterMemory({ points: postsPerMinute, duration: 60 })
  return async (c, next) => {
    if (c.req.method === 'POST') {
      try {
        await limiter.consume(c.get('caller').userId)
      } catch {
        return c.json({ error: 'Too many requests.' }, 429, { 'Retry-After': '60' })
      }
    }
    await next()
    return undefined
  }
}

function missing(c: Context): Response {
  return c.json({ error: 'Not found.' }, 404)
}

function invalid(c: Context): Response {
  return c.json({ error: 'The request is not valid.' }, 400)
}
