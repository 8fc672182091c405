/**
 * The JSON of the two policies about dead letters: RedrivePolicy names the dead-letter queue of a queue,
 * RedriveAllowPolicy the source queues that may use a dead-letter queue.
 */
import { limits } from '../core/limits.ts'
import type { DeadLetterTarget, QueueSettings } from '../core/queue-settings.ts'
import { invalidAttribute, invalidPolicy } from './attribute-refusal.ts'
import { parseJsonObject } from './json-object.ts'
import {
  addressOf,
  formatArn,
  parseArn,
  type QueueAddress,
  type QueuePlace,
  storeNameOf,
} from './queue-address.ts'

export interface RedrivePolicyScene {
  /** The queue of the policy. */
  readonly queue: QueueAddress
  readonly home: QueuePlace
}

const targetMember = 'deadLetterTargetArn'
const countMember = 'maxReceiveCount'

/** The store checks that the target exists and has the same type. */
export function parseRedrivePolicy(
  text: string,
  { queue, home }: RedrivePolicyScene,
): DeadLetterTarget {
  const refuse = (reason: string): Error =>
    invalidPolicy({ attribute: 'RedrivePolicy', text, reason })
  const policy = parseJsonObject(text)
  if (policy === undefined) {
    throw invalidAttribute('RedrivePolicy', 'Redrive policy is not a valid JSON map.')
  }
  for (const member of [countMember, targetMember]) {
    if (policy[member] !== undefined) continue
    throw refuse(`Redrive policy does not contain mandatory attribute: ${member}.`)
  }
  if (Object.keys(policy).length > 2) {
    throw refuse(`Only following attributes are supported: [${countMember}, ${targetMember}].`)
  }
  const { min, max } = limits.maxReceives
  const maxReceives = countFrom(policy[countMember])
  if (maxReceives === undefined || maxReceives < min || maxReceives > max) {
    const given = String(policy[countMember]).slice(0, 40)
    throw refuse(
      `Invalid value for ${countMember}: ${given}, valid values are from ${min} to ${max} both inclusive.`,
    )
  }
  return { queue: storeNameOf(targetFrom(policy[targetMember], queue, refuse), home), maxReceives }
}

/** Older tools send the number as a string. */
function countFrom(value: unknown): number | undefined {
  if (typeof value === 'number' && Number.isInteger(value)) return value
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : undefined
}

function targetFrom(
  arn: unknown,
  { region, account }: QueuePlace,
  refuse: (reason: string) => Error,
): QueueAddress {
  if (typeof arn !== 'string' || !/^arn:[^:]*(?::[^:]*){4}/.test(arn)) {
    throw refuse(`Invalid value for ${targetMember}.`)
  }
  if (arn.split(':')[2] !== 'sqs') {
    throw refuse(`Only SQS queues are valid resources for ${targetMember}.`)
  }
  const target = parseArn(arn)
  if (target === undefined) throw refuse(`Invalid value for ${targetMember}.`)
  if (target.region !== region || target.account !== account) {
    throw refuse('Dead letter target owner should be same as the source.')
  }
  return target
}

export function formatRedrivePolicy(target: DeadLetterTarget, home: QueuePlace): string {
  return redrivePolicyText(formatArn(addressOf(target.queue, home)), target.maxReceives)
}

/** @param arn of the dead-letter queue */
export function redrivePolicyText(arn: string, maxReceives: number): string {
  return JSON.stringify({ [targetMember]: arn, [countMember]: maxReceives })
}

const permissions = ['allowAll', 'denyAll', 'byQueue'] as const
const unsupported =
  "Amazon SQS can't create the redrive allow policy, as it’s in an unsupported format."

export function parseRedriveAllowPolicy(
  text: string,
  home: QueuePlace,
): QueueSettings['deadLetterSources'] {
  const attribute = 'RedriveAllowPolicy'
  const refuse = (reason: string): Error =>
    invalidPolicy({
      attribute,
      text,
      reason: `Amazon SQS can't create the redrive allow policy. ${reason}`,
    })
  const { redrivePermission, sourceQueueArns, ...others } = parseJsonObject(text) ?? {}
  const permission = permissions.find((one) => one === redrivePermission)
  const isList = sourceQueueArns === undefined || Array.isArray(sourceQueueArns)
  if (permission === undefined || !isList || Object.keys(others).length > 0) {
    throw invalidAttribute(attribute, unsupported)
  }
  const arns: readonly unknown[] = sourceQueueArns ?? []
  if (permission !== 'byQueue') {
    if (arns.length === 0) return permission === 'allowAll' ? 'all' : 'none'
    throw refuse(
      'To specify one or more source queue ARNs, you must set redrivePermission to byQueue.',
    )
  }
  if (arns.length === 0) {
    throw refuse(
      'When you specify the byQueue permission type, you must also specify one or more sourceQueueArns values.',
    )
  }
  const { max } = limits.redriveSources
  if (arns.length > max) {
    throw refuse(`The maximum number of source queue ARNs you can specify is ${max}.`)
  }
  return arns.map((arn) => {
    const source = typeof arn === 'string' ? parseArn(arn) : undefined
    if (source === undefined) throw invalidAttribute(attribute, unsupported)
    return storeNameOf(source, home)
  })
}

export function formatRedriveAllowPolicy(
  sources: QueueSettings['deadLetterSources'],
  home: QueuePlace,
): string {
  if (sources === 'all') return JSON.stringify({ redrivePermission: 'allowAll' })
  if (sources === 'none') return JSON.stringify({ redrivePermission: 'denyAll' })
  const sourceQueueArns = sources.map((source) => formatArn(addressOf(source, home)))
  return JSON.stringify({ redrivePermission: 'byQueue', sourceQueueArns })
}
