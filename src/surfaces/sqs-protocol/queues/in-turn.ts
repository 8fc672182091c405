/** Serializes the read-modify-write changes of a queue, so that none is lost. */
import type { WireStore } from '../action.ts'

const turnsOf = new WeakMap<WireStore, Map<string, Promise<unknown>>>()

export function inTurn<T>(store: WireStore, queue: string, run: () => Promise<T>): Promise<T> {
  const turns = turnsOf.get(store) ?? new Map<string, Promise<unknown>>()
  turnsOf.set(store, turns)
  // Runs even if the previous change failed.
  const turn = (turns.get(queue) ?? Promise.resolve()).then(run, run)
  turns.set(queue, turn)
  const leave = (): void => {
    if (turns.get(queue) === turn) turns.delete(queue)
  }
  turn.then(leave, leave)
  return turn
}
