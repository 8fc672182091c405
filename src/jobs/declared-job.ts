/**
 * Checks a job from a client that does not use the library against the app that declares its queue, and gives
 * it the settings of its type. The payload stays the text that the client sent.
 */
import type { NewJob } from '../backends/job-store.ts'
import { jobContractOf, type QueueContract } from '../contracts/contract-of.ts'
import { attemptsOf, expiresAfterOf, type JobsQueue } from '../contracts/jobs-declaration.ts'
import { tierFor } from '../contracts/tier-declaration.ts'
import { validateMaybeAsync } from '../contracts/validate-message.ts'
import { durationMs } from '../core/durations.ts'
import { encodeMessage, parseJson } from '../producer/encode-message.ts'
import { encodingRules, requireType } from './job-producer.ts'

export interface DeclaredJobs extends QueueContract {
  readonly declared: JobsQueue
}

export async function declaredJob(queue: DeclaredJobs, job: NewJob): Promise<NewJob> {
  const { key, app, declared } = queue
  const { checkOnWire = true, idempotencyFor } = declared.options
  const type = requireType(declared, job.type, 'type')
  const value = readPayload(job.payload)
  if (checkOnWire) await validateMaybeAsync(jobContractOf(declared, type), value)
  const tier = tierFor(app, { queue: key, type: job.type, tier: job.tier })
  const lifetime = idempotencyFor && { lifetimeMs: durationMs(idempotencyFor) }
  const expiresAfter = expiresAfterOf(declared, type)
  const { idempotency } = job
  return {
    ...(expiresAfter !== undefined && { expiresAfterMs: durationMs(expiresAfter) }),
    ...job,
    maxAttempts: job.maxAttempts ?? attemptsOf(declared, type),
    ...(tier !== undefined && { tier }),
    ...(idempotency !== undefined && { idempotency: { ...lifetime, ...idempotency } }),
  }
}

/** Throws `invalid_message`. */
export function readPayload(text: string): unknown {
  const value = parseJson(text)
  // Refuses what the library refuses in a payload.
  encodeMessage(value, 'message', encodingRules)
  return value
}
