/** Checks the flows and chains of an app against its queues. Their names in the store share one namespace. */
import { checkOneOf, describeGiven, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import type { DeclaredFlowParts } from './app-declaration.ts'
import { checkChain } from './check-chains.ts'
import { checkPartName } from './check-part-name.ts'
import { type CheckedQueues, checkWorkQueue } from './check-work.ts'
import type { NameScope } from './resolve-names.ts'
import {
  checkDuration,
  checkEach,
  checkFlag,
  checkKeys,
  type Fields,
  isRecord,
} from './setting-checks.ts'

const flowKeys: readonly string[] = [
  'units',
  'finalize',
  'failed',
  'onUnitFailure',
  'deadline',
  'onDeadline',
  'keepWork',
  'keep',
]

export interface FlowsCheck {
  readonly parts: Pick<DeclaredFlowParts, 'flows' | 'chains'>
  readonly queues: CheckedQueues
  readonly scope: NameScope
}

export function checkFlows(into: Violations, { parts, queues, scope }: FlowsCheck): void {
  const owners = new Map<string, string>()
  const each = (
    part: 'flows' | 'chains',
    example: string,
    check: (field: string, options: Fields) => void,
  ): void => {
    const declared: unknown = parts[part]
    if (declared === undefined) return
    if (!isRecord(declared)) {
      into.push({ field: part, given: describeGiven(declared), allowed: `an object of ${part}` })
      return
    }
    for (const [key, one] of Object.entries(declared)) {
      const field = `${part}.${key}`
      checkPartName(into, { field, key, scope, length: limits.flowNameLength, owners })
      const kind = part.slice(0, -1)
      const options = isRecord(one) && one['kind'] === kind && one['options']
      if (isRecord(options)) check(field, options)
      else {
        const allowed = `a ${kind} made with ${example}`
        into.push({ field, given: describeGiven(one), allowed })
      }
    }
  }
  each('flows', "flow({ units: 'extract' })", (field, options) =>
    checkFlow(into, field, options, queues),
  )
  each('chains', 'chain({ steps: [...] })', (field, options) =>
    checkChain(into, field, options, queues),
  )
}

function checkFlow(into: Violations, field: string, options: Fields, queues: CheckedQueues): void {
  checkKeys(into, field, options, flowKeys)
  const { units, finalize, failed, onUnitFailure, deadline, onDeadline } = options
  checkWorkQueue(into, `${field}.units`, units, queues)
  if (finalize !== undefined) checkWorkQueue(into, `${field}.finalize`, finalize, queues)
  if (failed !== undefined) checkWorkQueue(into, `${field}.failed`, failed, queues)
  checkEach(into, field, options, {
    onUnitFailure: (to, at, value) => checkOneOf(to, at, value, ['wait', 'fail', 'finalize']),
    onDeadline: (to, at, value) => checkOneOf(to, at, value, ['report', 'fail', 'finalize']),
    keepWork: checkFlag,
    deadline: (to, at, value) => checkDuration(to, at, value, limits.flowDeadlineMs),
    keep: (to, at, value) => checkDuration(to, at, value, limits.flowKeepMs),
  })
  // Refuse options that could never take effect.
  if (onDeadline !== undefined && deadline === undefined) {
    const allowed = 'a flow with a deadline'
    into.push({ field: `${field}.onDeadline`, given: describeGiven(onDeadline), allowed })
  }
  if (failed !== undefined && onUnitFailure !== 'fail' && onDeadline !== 'fail') {
    const allowed = "onUnitFailure: 'fail' or onDeadline: 'fail' beside it, or no flow ever fails"
    into.push({ field: `${field}.failed`, given: describeGiven(failed), allowed })
  }
}
