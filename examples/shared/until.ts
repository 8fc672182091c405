/** Polls until a condition holds, with a timeout. */
import { setTimeout as pause } from 'node:timers/promises'

const pollMs = 20
/** Generous, for slow machines. */
const defaultTimeoutMs = 120_000

export async function until(
  holds: () => boolean | Promise<boolean>,
  condition: string,
  timeoutMs: number = defaultTimeoutMs,
): Promise<void> {
  await untilMatching(holds, (isTrue) => isTrue, condition, timeoutMs)
}

/** Calls `read` until its result matches, and resolves to that result. */
export async function untilMatching<Value>(
  read: () => Value | Promise<Value>,
  matches: (value: Value) => boolean,
  condition: string,
  timeoutMs: number = defaultTimeoutMs,
): Promise<Value> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const value = await read()
    if (matches(value)) return value
    if (performance.now() > end) throw new Error(`Timed out waiting until ${condition}.`)
    await pause(pollMs)
  }
}
