/** Waits for what needs to be seen, and not for ever. */
import { setTimeout as pause } from 'node:timers/promises'

const lookAgainMs = 20
const patienceMs = 30_000

export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Waited in vain until ${what}.`)
    await pause(lookAgainMs)
  }
}
