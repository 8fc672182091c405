/** Kill switches in the environment of a function. `LLM_PAUSED=true` stops what obeys `LLM_PAUSED`. */
import { heldNamesIn } from '../contracts/held-names.ts'
import { type FunctionQueue, jobTypeIn } from './record-runner.ts'
import type { SqsBatchRecord } from './sqs-batch.ts'

/** The name of the switch that stops a record; undefined if it may run. */
export function heldBy(
  { settings }: FunctionQueue,
  record: SqsBatchRecord,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  const { obeys } = settings
  // The type comes from the sender: `constructor` must not match an inherited property.
  const type = jobTypeIn(record) ?? ''
  const ofType = Object.hasOwn(obeys.types, type) ? obeys.types[type] : undefined
  const names = [...obeys.queue, ...(ofType ?? [])]
  if (names.length === 0) return undefined
  const held = heldNamesIn(environment, [{ settings }])
  return names.find((name) => held.includes(name))
}
