/** An emitter whose messages and jobs carry the context of the span that creates them. */
import { created } from '../observability/traced-store.ts'
import type { Traces } from '../observability/traces.ts'
import type { Emitter } from './emitter.ts'

export function tracedEmitter(emitter: Emitter, traces: Traces | undefined): Emitter {
  if (traces === undefined) return emitter
  return {
    message: async (...message) => created(traces, await emitter.message(...message)),
    job: async (...job) => created(traces, await emitter.job(...job)),
    work: async (...work) => created(traces, await emitter.work(...work)),
  }
}
