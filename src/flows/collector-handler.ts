/**
 * How a worker handles a trigger: it takes the staged items, merges them, and sends the one message in the
 * commit that ends the batch. Nothing is kept in memory between these steps, so a worker that crashes loses
 * nothing.
 */
import type { EmittedMessage } from '../backends/backend.ts'
import type { CollectorStore, EndBatch, StagedItem } from '../backends/collector-store.ts'
import { validateMessage } from '../contracts/validate-message.ts'
import { describeGiven } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Emitter } from '../jobs/emitter.ts'
import type { Traces } from '../observability/traces.ts'
import { keyOfTrigger } from './collector-items.ts'
import type { NamedCollector } from './collector-registry.ts'
import { linkItems } from './traced-items.ts'

/** What the handler of a trigger needs from its delivery. */
export interface TriggerContext {
  readonly lease: { readonly queue: string; readonly receipt: string }
  /** Ends the batch and sends the merged message in the commit that acknowledges the trigger. */
  endBatch(batch: EndBatch, merged: EmittedMessage): void
}

export type TriggerHandler = (trigger: unknown, context: TriggerContext) => Promise<void>

export interface TriggerHandlerSetup {
  readonly collector: NamedCollector
  readonly store: () => CollectorStore
  readonly emitter: Pick<Emitter, 'message'>
  readonly traces: Traces | undefined
}

export function createTriggerHandler(setup: TriggerHandlerSetup): TriggerHandler {
  const { collector, store, traces } = setup
  const { name, maxItems, maxBytes } = collector
  return async (trigger, context) => {
    const key = keyOfTrigger(collector, trigger)
    if (key === undefined)
      throw new UnfitTrigger(
        'The trigger has no key. Check what trigger and keyOf of the collector return.',
      )
    const about = { collector: name, key }
    const batch = await store().begin({ ...about, ...context.lease, maxItems, maxBytes })
    switch (batch.status) {
      case 'begun':
        linkItems(traces, batch.items)
        context.endBatch(about, await merged(setup, key, batch.items))
        return
      case 'busy':
      case 'nothing':
        // The worker that runs the batch handles the staged items, so this trigger is done.
        return
      default:
        // Acknowledging it now could leave the key without a trigger.
        throw new Error(`The batch was not started: the lease of its trigger is ${batch.status}.`)
    }
  }
}

/** The runner recognises the name of this error and does not retry. */
class UnfitTrigger extends Error {
  override readonly name = 'UnrecoverableError'
}

async function merged(
  { collector, emitter }: TriggerHandlerSetup,
  key: string,
  staged: readonly StagedItem[],
): Promise<EmittedMessage> {
  const { options } = collector.declared
  const items = await Promise.all(
    staged.map(({ body }, index) =>
      validateMessage(options.schema, JSON.parse(body), `items[${index}]`),
    ),
  )
  const target = targetOf(collector, items, key)
  return emitter.message(target, await options.merge(items, key))
}

function targetOf(
  { declared: { options } }: NamedCollector,
  items: readonly unknown[],
  key: string,
): string {
  const { targets, route } = options
  const target: unknown = route === undefined ? targets[0] : route(items, key)
  if (typeof target === 'string' && targets.includes(target)) return target
  const allowed = `one of ${targets.join(', ')}`
  throw MillraceError.invalid([{ field: 'route', given: describeGiven(target), allowed }])
}
