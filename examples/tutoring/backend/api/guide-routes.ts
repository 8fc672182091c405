/** Guides of teachers and submissions of students, which the AI engine processes. */
import { randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import type { Guide, GuideSubmission } from '../stores/guides.ts'
import { viewOf } from './attempt-routes.ts'
import type { ApiParts, ApiTypes } from './create-api.ts'
import * as requests from './requests.ts'

export function guideRoutes({ stores, sender }: ApiParts): Hono<ApiTypes> {
  const { guides } = stores
  const app = new Hono<ApiTypes>()

  app.post('/guides', async (c) => {
    const { teacherId, sourcePdfKey, courseGradeLevel } = await requests.read(c, requests.NewGuide)
    const guide: Guide = {
      id: randomUUID(),
      teacherId,
      sourcePdfKey,
      courseGradeLevel,
      status: 'INGESTING',
    }
    const message = await sender.check('guideIngestQueue', {
      guide_id: guide.id,
      source_pdf_key: sourcePdfKey,
      course_grade_level: courseGradeLevel,
      trace_id: c.get('traceId'),
    })
    guides.add(guide)
    await message.send()
    return c.json(guide, 202)
  })

  app.get('/guides/:id', (c) => {
    const guide = requests.found(guides.get(requests.idIn(c)))
    return c.json({ ...guide, questions: guides.questionsOf(guide.id) })
  })

  const generate = async (guideId: string, questionId: string | null, traceId: string) => {
    const message = await sender.check('solutionGenerationQueue', {
      guide_id: guideId,
      guide_question_id: questionId,
      trace_id: traceId,
    })
    await message.send()
  }

  app.post('/guides/:id/approval', async (c) => {
    const { id } = requests.found(guides.get(requests.idIn(c)))
    // A guide without extracted questions cannot be approved.
    if (!guides.approve(id)) throw requests.problem('conflict')
    await generate(id, null, c.get('traceId'))
    return c.json({ ...guides.get(id), traceId: c.get('traceId') }, 202)
  })

  app.post('/guides/:id/solutions', async (c) => {
    const { guideQuestionId } = await requests.read(c, requests.SolutionRequest)
    const { id, status } = requests.found(guides.get(requests.idIn(c)))
    if (status !== 'APPROVED') throw requests.problem('conflict')
    if (guideQuestionId !== null && guides.question(guideQuestionId)?.guideId !== id) {
      throw requests.problem('not_found')
    }
    await generate(id, guideQuestionId, c.get('traceId'))
    return c.json({ traceId: c.get('traceId') }, 202)
  })

  return app.route('/', submissionRoutes({ stores, sender }))
}

function submissionRoutes({ stores: { guides, attempts }, sender }: ApiParts): Hono<ApiTypes> {
  const app = new Hono<ApiTypes>()

  app.post('/submissions', async (c) => {
    const { studentId, guideQuestionId, photoKeys } = await requests.read(c, requests.NewSubmission)
    const question = requests.found(guides.question(guideQuestionId))
    const solutionVersion = question.solutions.at(-1)?.version
    // Without a solution, the work cannot be graded.
    if (solutionVersion === undefined) throw requests.problem('conflict')
    const submission: GuideSubmission = {
      id: randomUUID(),
      studentId,
      guideQuestionId,
      solutionVersion,
      photoKeys,
      traceId: c.get('traceId'),
    }
    const message = await sender.check('submissionGradeQueue', {
      guide_submission_id: submission.id,
      guide_question_id: guideQuestionId,
      solution_version: solutionVersion,
      photo_keys: photoKeys,
      trace_id: submission.traceId,
    })
    guides.addSubmission(submission)
    await message.send()
    return c.json(submission, 202)
  })

  app.get('/submissions/:id', (c) => {
    const submission = requests.found(guides.submission(requests.idIn(c)))
    const attempt = attempts.ofSubmission(submission.id)
    return c.json({ ...submission, attempt: attempt ? viewOf(attempt) : null })
  })
  return app
}
