/** The steps of the demo, as students, teachers and an operator perform them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { drawPage } from '../../shared/draw-page.ts'
import { type Answer, Caller } from './caller.ts'
import { guidePdf } from './guide-pdf.ts'
import { type TutoringSystem, tokensPerDay } from './tutoring-system.ts'

export type Print = (line: string) => void

interface Stage {
  readonly system: TutoringSystem
  readonly api: Caller
  readonly print: Print
  readonly studentId: string
}

export async function runScenario(system: TutoringSystem, print: Print): Promise<void> {
  const api = new Caller(system.apiUrl)
  const stage: Stage = { system, api, print, studentId: randomUUID() }
  const sum = await api.post('/items', item('47 + 38', 'ADDITION'))
  await attemptsByRule(stage, sum)
  await attemptsByModel(stage, sum)
  await refusedPersonalData(stage)
  await guideAndSubmissions(stage)
  await photoOfAnAttempt(stage, sum)
  await generatedItems(stage)
  await spentBudget(stage, sum)
}

function item(statement: string, subdomainCode: string): object {
  return { statement, subdomainCode, gradeLevel: 5 }
}

async function attemptsByRule({ api, print, studentId }: Stage, { id }: Answer): Promise<void> {
  print('A student works on 47 + 38. The rule engine answers in the request itself.')
  for (const steps of [['47 + 38 = 85'], ['75']]) {
    const attemptId = randomUUID()
    const work = { attemptId, studentId, exerciseId: id, steps }
    const { isCorrect, errorCode } = await api.post('/attempts', work)
    print(`  ${steps.join(', ')}: ${isCorrect ? 'correct' : errorCode}`)
    // Like a client that got no response.
    await api.post('/attempts', work)
    const { telemetry } = await api.until(
      `/attempts/${attemptId}`,
      (one) => one.telemetry.length > 0,
    )
    assert.equal(telemetry.length, 1)
  }
  print('  Each was sent twice, and is in the telemetry once.')
}

async function attemptsByModel(stage: Stage, exercise: Answer): Promise<void> {
  const { api, print, system } = stage
  print(
    'Two answers that no rule explains go to Claude, in one batch. The first request gets a 429.',
  )
  system.claude.failNext(429)
  const attempts = [await answer(stage, exercise, '58'), await answer(stage, exercise, '86')]
  for (const { id, latexSteps } of attempts) {
    const done = await api.until(`/attempts/${id}`, (one) => one.telemetry.length === 2)
    const events = done.telemetry.map(
      ({ classifierSource, errorTagId }) => `${classifierSource} ${errorTagId ? 'tagged' : 'open'}`,
    )
    print(`  ${latexSteps.join()}: ${done.errorCode}; telemetry in order: ${events.join(', ')}`)
  }
}

async function answer(stage: Stage, exercise: Answer, line: string): Promise<Answer> {
  const { api, studentId } = stage
  return api.post('/attempts', { studentId, exerciseId: exercise.id, steps: [line] })
}

async function refusedPersonalData({ api, print }: Stage): Promise<void> {
  const sourcePdfKey = 'guides/uploads/ana.perez@example.com.pdf'
  const guide = { teacherId: randomUUID(), sourcePdfKey, courseGradeLevel: 5 }
  const { error, issues } = await api.post('/guides', guide)
  assert.equal(error, 'invalid_message')
  print(`A file named after a person is refused: ${issues[0]?.path}: ${issues[0]?.message}`)
}

async function guideAndSubmissions(stage: Stage): Promise<void> {
  const { api, print, system, studentId } = stage
  const sourcePdfKey = 'guides/uploads/guide-4.pdf'
  const lines = ['Guide 4', '1. Solve for x: 2(x - 3) = 14', '2. Calculate 12 + 3 * 5']
  await system.upload(sourcePdfKey, guidePdf(lines))
  print(
    'A teacher uploads a guide as a PDF, checks the questions that the AI engine found, and approves it.',
  )
  const guide = { teacherId: randomUUID(), sourcePdfKey, courseGradeLevel: 5 }
  const { id } = await api.post('/guides', guide)
  await api.until(`/guides/${id}`, ({ status }) => status === 'EXTRACTED')
  await api.post(`/guides/${id}/approval`)
  const { questions } = await api.until(`/guides/${id}`, (one) =>
    one.questions.every(({ solutions }) => solutions.length === 1),
  )
  for (const { statement, solutions } of questions) {
    print(`  ${statement}: ${solutions.at(-1)?.latexSteps.join(', ')}`)
  }

  print('Students photograph their answers to the first question.')
  const works = [
    ['2x - 6 = 14', '2x = 20', 'x = 10'],
    ['2x - 3 = 14', '2x = 17', 'x = 17/2'],
  ]
  for (const [index, work] of works.entries()) {
    const photoKey = `submissions/${index}.png`
    await system.upload(photoKey, await drawPage(work))
    const submission = { studentId, guideQuestionId: questions[0]?.id, photoKeys: [photoKey] }
    const sent = await api.post('/submissions', submission)
    const { attempt } = await api.until(`/submissions/${sent.id}`, (one) => one.attempt !== null)
    assert.equal(attempt?.inputMode, 'PHOTO_GUIDE')
    print(`  ${attempt.latexSteps.join(', ')}: ${gradeOf(attempt)}`)
  }
}

function gradeOf({ alignmentSummary, isCorrect, errorCode }: Answer): string {
  const score = alignmentSummary?.score_0_1.toFixed(2)
  return `score ${score}, ${isCorrect ? 'correct' : errorCode}`
}

async function photoOfAnAttempt(stage: Stage, exercise: Answer): Promise<void> {
  const { api, print, system } = stage
  print('A student adds a photo to an attempt. The OCR adapter sends the older message format.')
  const { id } = await answer(stage, exercise, '75')
  await system.upload('attempts/1.png', await drawPage(['47 + 38 = 85']))
  await api.post(`/attempts/${id}/photo`, { photoKey: 'attempts/1.png' })
  const read = await api.until(`/attempts/${id}`, ({ inputMode }) => inputMode === 'PHOTO')
  print(`  read: ${read.latexSteps.join(', ')}: ${read.isCorrect ? 'correct' : read.errorCode}`)
}

async function generatedItems({ api, print }: Stage): Promise<void> {
  const targetErrorCodes = ['ADD_CARRY_OMITTED', 'DISTRIBUTE_FIRST_ONLY']
  const order = { subdomainCode: 'PRACTICE', gradeLevel: 5, targetErrorCodes, count: 4 }
  await api.post('/items/generate', order)
  const { items } = await api.until(
    '/items?subdomainCode=PRACTICE',
    (one) => one.items.length === 4,
  )
  print(`Exercises for two mistakes: ${items.map(({ statement }) => statement).join('; ')}`)
}

/** The model's budget is spent. Messages that need the model are diverted until an operator decides. */
async function spentBudget(stage: Stage, exercise: Answer): Promise<void> {
  const { api, print, system } = stage
  const deadLetters = 'innova-backend-serverless-dev-llm-classify-dlq'
  print(`The budget in this demo is ${tokensPerDay} tokens a day. A third question exceeds it.`)
  const last = await answer(stage, exercise, '58')
  await api.until(`/attempts/${last.id}`, ({ errorCode }) => errorCode !== null)
  const [paused] = JSON.parse(await system.millrace('switch', 'list', '--json')).switches
  assert.deepEqual(
    [paused?.value, paused?.mode, paused?.by],
    ['LLM_PAUSED', 'divert', 'budget llm'],
  )
  print(
    `  It is classified, and ${paused.value} is on: set by ${paused.by}, until ${paused.until}.`,
  )

  const questions = system.claude.requests.length
  const { id } = await answer(stage, exercise, '86')
  await system.waitForMessages('llm-classify-dlq')
  assert.equal(system.claude.requests.length, questions)
  print(`  A fourth one goes to ${deadLetters}, without a call to Claude.`)

  await system.millrace('switch', 'lift', '--name', 'LLM_PAUSED', '--note', 'more credit')
  await system.millrace('dlq', 'redrive', deadLetters, '--yes')
  const { errorCode } = await api.until(`/attempts/${id}`, (one) => one.errorCode !== null)
  print(`  An operator lifts the switch and redrives the dead letter: the attempt is ${errorCode}.`)
}
