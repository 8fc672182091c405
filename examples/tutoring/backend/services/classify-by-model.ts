/** What llmClassifierWorker does with one message: loads the attempt, calls the model, stores the result. */
import type { LlmClassifyMessage } from '../messages.ts'
import type { QueueSender } from '../open-backend.ts'
import { errorTagId } from '../rules/taxonomy.ts'
import type { Attempt } from '../stores/attempts.ts'
import type { Stores } from '../stores/stores.ts'
import { announceAttempt, isUnclassified } from './announce-attempt.ts'
import type { ErrorClassifier } from './claude-classifier.ts'
import type { TokenMeter } from './llm-budget.ts'

export interface ClassifyingParts {
  readonly stores: Stores
  readonly sender: QueueSender
  readonly classifier: ErrorClassifier
  readonly meter: Pick<TokenMeter, 'spend'>
}

/** A redelivered message costs no second call, because the attempt is already classified. */
export async function classifyByModel(
  { stores, sender, classifier, meter }: ClassifyingParts,
  { attemptId }: LlmClassifyMessage,
): Promise<Attempt> {
  const attempt = attemptIn(stores, attemptId)
  if (isUnclassified(attempt)) {
    const { errorCode, confidence, tokens } = await classifier.classify({
      exercise: statementFor(stores, attempt),
      lines: attempt.latexSteps,
    })
    // First, because the tokens are paid for whatever happens next.
    await meter.spend(tokens)
    const tag = { errorTagId: errorTagId(errorCode), classifierSource: 'LLM' } as const
    stores.attempts.classify(attemptId, { ...tag, confidence })
  }
  const classified = attemptIn(stores, attemptId)
  await announceAttempt(sender, classified)
  return classified
}

function attemptIn({ attempts }: Stores, id: string): Attempt {
  const attempt = attempts.get(id)
  if (attempt === undefined) throw new Error('The attempt of this message does not exist.')
  return attempt
}

/** The exercise, or the question of a guide, that an attempt is about. */
export function statementFor({ exercises, guides }: Stores, attempt: Attempt): string {
  const { exerciseId, guideQuestionId } = attempt
  const exercise = exerciseId === null ? undefined : exercises.get(exerciseId)
  const question = guideQuestionId === null ? undefined : guides.question(guideQuestionId)
  const statement = exercise?.statement ?? question?.statement
  if (statement === undefined)
    throw new Error('The exercise or question of the attempt does not exist.')
  return statement
}
