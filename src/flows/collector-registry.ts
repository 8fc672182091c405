/** The collectors of an app with their names, limits and queues of triggers in the store. */
import type { DeclaredCollector } from '../contracts/collector-declaration.ts'
import type { DeclaredFlowParts } from '../contracts/define-app.ts'
import type { MessageSchema } from '../contracts/queue-declaration.ts'
import { type NamedQueue, type NameScope, scopedName } from '../contracts/resolve-names.ts'
import { describeGiven } from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { durationMs } from '../core/durations.ts'
import { MillraceError } from '../core/millrace-error.ts'

/** A collector without the type of its items. */
export type UntypedCollector = DeclaredCollector<MessageSchema<unknown, unknown>>

export interface NamedCollector {
  readonly key: string
  /** The name in the store. */
  readonly name: string
  readonly declared: UntypedCollector
  /** The queue that carries its triggers. */
  readonly triggers: NamedQueue
  readonly windowMs: number
  readonly maxWaitMs: number | undefined
  readonly maxItems: number
  readonly maxBytes: number
  readonly rememberMs: number
}

export const collectorDefaults = {
  maxItems: 100,
  maxBytes: 262_144,
  rememberFor: '24h',
} as const

export interface CollectorRegistrySetup {
  readonly app: DeclaredFlowParts
  readonly scope: NameScope
  readonly queues: readonly NamedQueue[]
}

export class CollectorRegistry {
  readonly all: readonly NamedCollector[]

  constructor({ app, scope, queues }: CollectorRegistrySetup) {
    this.all = Object.entries(app.collectors ?? {}).map(([key, declared]) =>
      namedCollector(key, declared, { scope, queues }),
    )
  }

  require(key: string): NamedCollector {
    const found = this.all.find((one) => one.key === key)
    if (found !== undefined) return found
    const keys = this.all.map((one) => one.key)
    const allowed =
      keys.length === 0
        ? 'an app that declares collectors'
        : `one of ${keys.join(', ')}${didYouMean(String(key), keys)}`
    throw MillraceError.invalid([{ field: 'collector', given: describeGiven(key), allowed }])
  }
}

function namedCollector(
  key: string,
  declared: UntypedCollector,
  { scope, queues }: Pick<CollectorRegistrySetup, 'scope' | 'queues'>,
): NamedCollector {
  const { window, maxWait, triggers: triggersKey } = declared.options
  const { maxItems, maxBytes, rememberFor } = { ...collectorDefaults, ...declared.options }
  const triggers = queues.find((one) => one.key === triggersKey)
  if (triggers === undefined) throw new MillraceError('queue_not_found')
  return {
    key,
    name: scopedName(key, scope),
    declared,
    triggers,
    windowMs: durationMs(window),
    maxWaitMs: maxWait === undefined ? undefined : durationMs(maxWait),
    maxItems,
    maxBytes,
    rememberMs: durationMs(rememberFor),
  }
}
