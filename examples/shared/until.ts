/** Waits for what needs to be seen, and not for ever. */
import { setTimeout as pause } from 'node:timers/promises'

const lookAgainMs = 20
/** Longer than most things here take on a slow machine. */
const usualPatienceMs = 60_000

export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
  patienceMs: number = usualPatienceMs,
): Promise<void> {
  await untilWanted(holds, (isSo) => isSo, what, patienceMs)
}

/** Looks again until what it finds is as wanted, and resolves to that. */
export async function untilWanted<Found>(
  look: () => Found | Promise<Found>,
  isWanted: (found: Found) => boolean,
  what: string,
  patienceMs: number = usualPatienceMs,
): Promise<Found> {
  const end = performance.now() + patienceMs
  for (;;) {
    const found = await look()
    if (isWanted(found)) return found
    if (performance.now() > end) throw new Error(`Waited in vain until ${what}.`)
    await pause(lookAgainMs)
  }
}
