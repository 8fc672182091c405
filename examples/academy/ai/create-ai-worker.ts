/**
 * Which queues an AI worker serves: on a CPU the tiers basic and lite, three to one; on a GPU premium.
 */
import type { Mill, Worker } from 'millrace'
import type { Academy, AiJobType } from '../app.ts'
import type { Environment } from '../environment.ts'
import type { AiHandler } from './ai-handlers.ts'

export interface AiWorkerSetup {
  readonly mill: Mill<Academy>
  readonly environment: Environment
  readonly handle: Readonly<Record<AiJobType, AiHandler>>
}

/** Jobs that one worker runs at once. */
const concurrency = 2

export function createAiWorker({ mill, environment, handle }: AiWorkerSetup): Worker {
  if (environment.AI_WORKER_MODE === 'gpu') {
    return mill.worker({ poll: ['premium'], concurrency, handle })
  }
  const poll = {
    basic: environment.AI_WORKER_BASIC_POLL_WEIGHT,
    lite: environment.AI_WORKER_LITE_POLL_WEIGHT,
  }
  return mill.worker({ poll, concurrency, handle })
}
