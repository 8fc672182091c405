/**
 * Makes a store answer late, as one at the other end of a connection does: a step runs only when its rule
 * waits for it. Tests run on such a store, because a rule that forgets its `yield*` fails there.
 */
import type { Step, Steps } from '../../../engine/steps.ts'

const stepNames: ReadonlySet<string | symbol> = new Set([
  'all',
  'changed',
  'changes',
  'counted',
  'counts',
  'findQueue',
  'lastSequence',
  'lock',
  'lockRows',
  'nextGeneration',
  'nextSequence',
  'nextToken',
  'one',
  'queue',
  'queuesChanged',
  'run',
  'runWithin',
  'writeCounts',
])

export function answeringLate<T extends object>(view: T): T {
  return new Proxy(view, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      const call = member.bind(target)
      return stepNames.has(name)
        ? (...values: readonly unknown[]) => later(() => call(...values))
        : call
    },
  })
}

function* later(step: () => Step<unknown>): Steps<unknown> {
  yield Promise.resolve()
  return yield* step()
}
