/** Exercises and attempts. The rule engine classifies at once; the rest goes to the language model. */
import { randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import { classifyAttempt } from '../rules/classify-attempt.ts'
import { errorTagId, errorTagOf } from '../rules/taxonomy.ts'
import { announceAttempt, announcementOf, isUnclassified } from '../services/announce-attempt.ts'
import type { Attempt } from '../stores/attempts.ts'
import type { Exercise } from '../stores/exercises.ts'
import type { ApiParts, ApiTypes } from './create-api.ts'
import * as requests from './requests.ts'

export function attemptRoutes({ stores, sender }: ApiParts): Hono<ApiTypes> {
  const { attempts, exercises, telemetry } = stores
  const app = new Hono<ApiTypes>()

  app.post('/attempts', async (c) => {
    const { attemptId, studentId, exerciseId, steps } = await requests.read(c, requests.NewAttempt)
    const exercise = requests.found(exercises.get(exerciseId))
    const existing = attemptId === undefined ? undefined : attempts.get(attemptId)
    if (existing !== undefined) {
      if (existing.studentId !== studentId || existing.exerciseId !== exerciseId) {
        throw requests.problem('conflict')
      }
      // The client got no response, so perhaps the messages were not sent either.
      await announceAttempt(sender, existing)
      return c.json(viewOf(existing))
    }
    const attempt = newAttempt({
      id: attemptId ?? randomUUID(),
      studentId,
      exercise,
      steps,
      traceId: c.get('traceId'),
    })
    const announcement = await announcementOf(sender, attempt)
    if (!attempts.add(attempt)) throw requests.problem('conflict')
    await announcement.send()
    return c.json(viewOf(attempt), 201)
  })

  app.get('/attempts/:id', (c) => {
    const attempt = requests.found(attempts.get(requests.idIn(c)))
    return c.json({ ...viewOf(attempt), telemetry: telemetry.ofAttempt(attempt.id) })
  })

  app.post('/attempts/:id/photo', async (c) => {
    const { photoKey } = await requests.read(c, requests.AttemptPhoto)
    const { id } = requests.found(attempts.get(requests.idIn(c)))
    const trace_id = c.get('traceId')
    const message = await sender.check('ocrQueue', {
      attempt_id: id,
      photo_key: photoKey,
      trace_id,
    })
    await message.send()
    return c.json({ traceId: trace_id }, 202)
  })
  return app
}

interface NewWork {
  readonly id: string
  readonly studentId: string
  readonly exercise: Exercise
  readonly steps: readonly string[]
  readonly traceId: string
}

function newAttempt({ id, studentId, exercise, steps, traceId }: NewWork): Attempt {
  const { isCorrect, errorCode } = classifyAttempt(exercise.statement, steps)
  return {
    id,
    studentId,
    exerciseId: exercise.id,
    guideQuestionId: null,
    guideSubmissionId: null,
    inputMode: 'KEYBOARD',
    latexSteps: steps,
    isCorrect,
    errorTagId: errorCode && errorTagId(errorCode),
    classifierSource: 'RULE',
    confidence: null,
    provider: null,
    alignmentSummary: null,
    traceId,
  }
}

/** An attempt as callers see it: with its error code, and whether it is still being processed. */
export function viewOf(attempt: Attempt): object {
  const tag = attempt.errorTagId === null ? undefined : errorTagOf(attempt.errorTagId)
  const status = isUnclassified(attempt) ? 'UNCLASSIFIED' : 'CLASSIFIED'
  return { ...attempt, errorCode: tag?.code ?? null, status }
}
