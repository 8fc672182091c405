/**
 * llmClassifierWorker: lets Claude classify attempts that no rule explains. The queue obeys LLM_PAUSED: while it
 * is set, all records fail, and after enough receives they are dead letters.
 */
import { type LambdaHandler, lambdaHandler } from 'millrace'
import { tutoring } from '../app.ts'
import { openBackend } from '../open-backend.ts'
import { type ClassifyingParts, classifyByModel } from '../services/classify-by-model.ts'
import { claudeClassifier } from '../services/claude-classifier.ts'
import { openTokenMeter } from '../services/llm-budget.ts'

export function llmClassifierWorker(parts: ClassifyingParts): LambdaHandler {
  return lambdaHandler(tutoring, 'llmClassifyQueue', (message) => classifyByModel(parts, message))
}

let worker: Promise<LambdaHandler> | undefined

export const handler: LambdaHandler = async (event, context) => {
  worker ??= openWorker()
  return (await worker)(event, context)
}

async function openWorker(): Promise<LambdaHandler> {
  const { stores, sender, environment } = openBackend()
  const classifier = claudeClassifier(environment)
  const meter = await openTokenMeter(environment.LLM_BUDGET_STORE)
  return llmClassifierWorker({ stores, sender, classifier, meter })
}
