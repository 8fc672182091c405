/** Exercises: those that a teacher writes, and those that the AI engine is asked for. */
import { randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import type { Exercise } from '../stores/exercises.ts'
import type { ApiParts, ApiTypes } from './create-api.ts'
import * as requests from './requests.ts'

export function itemRoutes({ stores: { exercises }, sender }: ApiParts): Hono<ApiTypes> {
  const app = new Hono<ApiTypes>()

  app.post('/items', async (c) => {
    const item = await requests.read(c, requests.NewItem)
    const exercise: Exercise = { id: randomUUID(), ...item, targetErrorCode: null }
    exercises.add(exercise)
    return c.json(exercise, 201)
  })

  app.get('/items', (c) => c.json({ items: exercises.list(c.req.query('subdomainCode') ?? '') }))

  app.post('/items/generate', async (c) => {
    const request = await requests.read(c, requests.ItemRequest)
    const message = await sender.check('exerciseGenerateQueue', {
      subdomain_code: request.subdomainCode,
      grade_level: request.gradeLevel,
      target_error_codes: [...request.targetErrorCodes],
      count: request.count,
      trace_id: c.get('traceId'),
    })
    await message.send()
    return c.json({ traceId: c.get('traceId') }, 202)
  })
  return app
}
