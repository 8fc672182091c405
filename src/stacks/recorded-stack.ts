/**
 * Stacks that went up on a store, as the store records them. What a stack had before tells what is gone
 * from its template, and what feeds its functions.
 */

import type { Backend } from '../backends/backend.ts'
import { supported } from '../core/supported.ts'
import type { Stack, StackFunction } from '../templates/stack.ts'

/** A stack as it went up. Environments of functions are left out: they may hold secrets. */
export interface RecordedStack extends Omit<Stack, 'functions'> {
  readonly functions: readonly Omit<StackFunction, 'environment'>[]
  /** The template or module that it was read from. */
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

/** All of them, by name. */
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
