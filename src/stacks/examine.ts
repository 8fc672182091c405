/** Runs the doctor on a template, an app, or a store with its recorded stacks. */
import { loadAppAtStage } from '../app/load-app.ts'
import type { Backend } from '../backends/backend.ts'
import { examine } from '../contracts/doctor.ts'
import type { Finding } from '../contracts/doctor-rule.ts'
import { examineApp } from '../contracts/examine-app.ts'
import type { ExaminedQueue } from '../contracts/examined-facts.ts'
import { resolveQueues } from '../contracts/resolve-queues.ts'
import { allQueues } from '../operations/list-queues.ts'
import { examinedStack, examineStack } from '../templates/examine-stack.ts'
import type { TemplateProblem } from '../templates/stack.ts'
import { type RecordedStack, recordedStacks } from './recorded-stack.ts'
import { isProgram, readStackSource, type StackSourceOptions } from './stack-source.ts'

export interface Examination {
  readonly findings: readonly Finding[]
  /** Why a source could not be examined. */
  readonly problems: readonly TemplateProblem[]
}

export async function examineSource(
  source: string,
  options: StackSourceOptions,
): Promise<Examination> {
  const { stack, problems } = await readStackSource(source, options)
  if (stack === null) return { findings: [], problems }
  if (!isProgram(source)) return { findings: examineStack(stack), problems }
  const { app, stage } = await loadAppAtStage(source, options)
  return { findings: examineApp(resolveQueues(app, stage)), problems }
}

/** Examines the store and its queues, with the facts of the recorded stacks. */
export async function examineStore(
  backend: Pick<Backend, 'listQueues' | 'stacks' | 'capabilities'>,
): Promise<Examination> {
  const recorded = await recordedStacks(backend)
  const stacks = recorded.map((stack) => examinedStack(withEnvironments(stack)))
  const declared = new Map(
    stacks.flatMap(({ queues }) =>
      queues.map((queue): [string, ExaminedQueue] => [queue.name, queue]),
    ),
  )
  const queues = (await allQueues(backend)).map(
    ({ name, settings }): ExaminedQueue => ({ ...declared.get(name), name, settings }),
  )
  const consumers = stacks.flatMap((stack) => stack.consumers)
  const { capabilities: store } = backend
  return { findings: examine({ queues, consumers, store }), problems: [] }
}

/** Environments are not recorded, and the doctor does not need them. */
function withEnvironments(stack: RecordedStack): Parameters<typeof examinedStack>[0] {
  return { ...stack, functions: stack.functions.map((one) => ({ ...one, environment: {} })) }
}
