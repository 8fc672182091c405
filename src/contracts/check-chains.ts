/** Checks one chain of an app against its queues. */
import { checkText, describeGiven, type Violations } from '../core/checks.ts'
import { describeRange, limits } from '../core/limits.ts'
import { type CheckedQueues, checkWorkQueue, checkWorkType } from './check-work.ts'
import { checkDuration, checkEach, checkKeys, type Fields, isRecord } from './setting-checks.ts'

export function checkChain(
  into: Violations,
  field: string,
  options: Fields,
  queues: CheckedQueues,
): void {
  checkKeys(into, field, options, ['steps', 'deadline', 'keep'])
  checkEach(into, field, options, {
    deadline: (to, at, value) => checkDuration(to, at, value, limits.flowDeadlineMs),
    keep: (to, at, value) => checkDuration(to, at, value, limits.flowKeepMs),
  })
  const { steps } = options
  const { min, max } = limits.chainSteps
  if (!Array.isArray(steps) || steps.length < min || steps.length > max) {
    const given = Array.isArray(steps) ? `${steps.length} steps` : describeGiven(steps)
    const allowed = `an array of ${describeRange(limits.chainSteps)}`
    into.push({ field: `${field}.steps`, given, allowed })
    return
  }
  const names = new Set<unknown>()
  for (const [index, step] of steps.entries()) {
    const at = `${field}.steps[${index}]`
    if (!isRecord(step)) {
      const allowed = "a step such as { name: 'outline', queue: 'generate' }"
      into.push({ field: at, given: describeGiven(step), allowed })
      continue
    }
    checkStep(into, at, step, queues)
    if (names.has(step['name'])) {
      const allowed = 'a name that no other step of the chain has'
      into.push({ field: `${at}.name`, given: describeGiven(step['name']), allowed })
    }
    names.add(step['name'])
    if (index === 0 && step['from'] !== undefined) {
      const allowed = 'none: the first step gets the start value of the chain'
      into.push({ field: `${at}.from`, given: 'a function', allowed })
    }
  }
}

function checkStep(into: Violations, field: string, step: Fields, queues: CheckedQueues): void {
  const { name, queue: key, type, from } = step
  checkKeys(into, field, step, ['name', 'queue', 'type', 'from'])
  checkText(into, `${field}.name`, name, limits.flowIdLength)
  if (from !== undefined && typeof from !== 'function') {
    into.push({ field: `${field}.from`, given: describeGiven(from), allowed: 'a function' })
  }
  const queue = checkWorkQueue(into, `${field}.queue`, key, queues)
  if (queue === undefined) return
  if (queue.type === 'fifo') {
    // A chain runs one step at a time anyway, and it has no group to send messages in.
    const allowed = 'a standard queue or a jobs queue'
    into.push({ field: `${field}.queue`, given: `'${key}', a FIFO queue`, allowed })
  }
  checkWorkType(into, `${field}.type`, type, queue)
}
