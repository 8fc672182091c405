/**
 * The applied stacks, as recorded in the store. The previous version shows which queues were removed from a
 * template, and which queues its functions consume.
 */

import type { Backend } from '../backends/backend.ts'
import { supported } from '../core/supported.ts'
import type { Stack, StackFunction } from '../templates/stack.ts'

/** An applied stack, without the environments of functions, which may contain secrets. */
export interface RecordedStack extends Omit<Stack, 'functions'> {
  readonly functions: readonly Omit<StackFunction, 'environment'>[]
  /** The template or module of the stack. */
  readonly source: string
  /** Queues of earlier versions that are still in the store. */
  readonly retired: readonly string[]
}

type StackBackend = Pick<Backend, 'stacks'>

export async function recordedStack(
  { stacks }: StackBackend,
  name: string,
): Promise<RecordedStack | undefined> {
  const record = await stacks?.read({ stack: name })
  return record && JSON.parse(record.document)
}

/** All recorded stacks, by name. */
export async function recordedStacks({ stacks }: StackBackend): Promise<readonly RecordedStack[]> {
  const records = (await stacks?.list()) ?? []
  return records.map(({ document }) => JSON.parse(document))
}

export async function recordStack(
  { stacks }: StackBackend,
  stack: Stack,
  about: Pick<RecordedStack, 'source' | 'retired'>,
): Promise<void> {
  const functions = stack.functions.map(({ environment: _, ...kept }) => kept)
  const recorded: RecordedStack = { ...stack, functions, ...about }
  await supported(stacks).write({ stack: stack.name, document: JSON.stringify(recorded) })
}
