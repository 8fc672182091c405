/** A producer whose prepared messages carry the context of the span that creates them. */
import { created } from '../observability/traced-store.ts'
import type { Traces } from '../observability/traces.ts'
import type { UntypedProducer } from './queue-producer.ts'

export function tracedProducer(producer: UntypedProducer, traces: Traces): UntypedProducer {
  return {
    ...producer,
    prepare: (message, options) => {
      const prepared = producer.prepare(message, options)
      return { toEmitted: async () => created(traces, await prepared.toEmitted()) }
    },
  }
}
