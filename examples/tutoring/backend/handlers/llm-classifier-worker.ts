/** llmClassifierWorker: lets Claude classify attempts that no rule explains. LLM_PAUSED stops it. */
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda'
import { messageCodec } from 'millrace'
import { tutoring } from '../app.ts'
import { openBackend } from '../open-backend.ts'
import { type ClassifyingParts, classifyByModel } from '../services/classify-by-model.ts'
import { claudeClassifier } from '../services/claude-classifier.ts'
import { openTokenMeter } from '../services/llm-budget.ts'
import { eachRecord, refuseAll } from './batch-response.ts'

type Worker = (event: SQSEvent) => Promise<SQSBatchResponse>

const codec = messageCodec(tutoring.queues.llmClassifyQueue)

export interface LlmClassifierSetup extends ClassifyingParts {
  readonly isPaused: boolean
}

export function llmClassifierWorker(setup: LlmClassifierSetup): Worker {
  return async (event) => {
    if (setup.isPaused) return refuseAll(event, 'LLM_PAUSED')
    return eachRecord(event, async ({ body }) => {
      await classifyByModel(setup, await codec.decode(body))
    })
  }
}

let worker: Promise<Worker> | undefined

export const handler: Worker = async (event) => {
  worker ??= openWorker()
  return (await worker)(event)
}

async function openWorker(): Promise<Worker> {
  const { stores, sender, environment } = openBackend()
  const classifier = claudeClassifier(environment)
  const meter = await openTokenMeter(environment.LLM_BUDGET_STORE)
  const isPaused = environment.LLM_PAUSED
  return llmClassifierWorker({ stores, sender, classifier, meter, isPaused })
}
