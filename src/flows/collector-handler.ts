/**
 * What a worker does with a trigger: it takes what is staged, merges it, and sends the one message in
 * the commit that ends the batch. Nothing is kept in between, so a worker that dies loses nothing.
 */
import type { EmittedMessage } from '../backends/backend.ts'
import type { CollectorStore, EndBatch, StagedItem } from '../backends/collector-store.ts'
import { validateMessage } from '../contracts/validate-message.ts'
import { describeGiven } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Emitter } from '../jobs/emitter.ts'
import { keyOfTrigger } from './collector-items.ts'
import type { NamedCollector } from './collector-registry.ts'

/** What the handler needs to know about the delivery of a trigger, and says at its end. */
export interface TriggerContext {
  readonly lease: { readonly queue: string; readonly receipt: string }
  /** Ends the batch with the acknowledgement, and sends what came of it. */
  endBatch(batch: EndBatch, merged: EmittedMessage): void
}

export type TriggerHandler = (trigger: unknown, context: TriggerContext) => Promise<void>

export interface TriggerHandlerSetup {
  readonly collector: NamedCollector
  readonly store: () => CollectorStore
  readonly emitter: Pick<Emitter, 'message'>
}

export function createTriggerHandler(setup: TriggerHandlerSetup): TriggerHandler {
  const { collector, store } = setup
  const { name, maxItems, maxBytes } = collector
  return async (trigger, context) => {
    const key = keyOfTrigger(collector, trigger)
    if (key === undefined) throw new UnfitTrigger('The trigger names no key.')
    const about = { collector: name, key }
    const batch = await store().begin({ ...about, ...context.lease, maxItems, maxBytes })
    switch (batch.status) {
      case 'begun':
        context.endBatch(about, await merged(setup, key, batch.items))
        return
      case 'busy':
      case 'nothing':
        // Whoever runs the batch sees to what is staged, so this trigger has done its work.
        return
      default:
        // To acknowledge it now could leave the key without a trigger.
        throw new Error(`The lease of the trigger is ${batch.status}.`)
    }
  }
}

/** The runner knows by its name that trying again is pointless. */
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
