/** Worker processes of which one is killed again and again, and replaced. */
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { seed } from '../support/seed.ts'
import type { WorkerArgument } from './workshop.ts'
import type { WorkshopScene } from './workshop-scene.ts'

export interface Killing {
  /** How many work at any time. */
  readonly workers: number
  readonly argument: Omit<WorkerArgument, 'store'>
  /** There are no more kills when so many tasks were begun. */
  readonly tasks: number
  /** A kill is due after about so many tasks were begun. */
  readonly startsPerKill: number
}

/** Returns the number of kills. The workers go on. */
export async function workWithKills(scene: WorkshopScene, killing: Killing): Promise<number> {
  const { argument, tasks, startsPerKill } = killing
  const randomness = seededRandomness(seed)
  const workers = Array.from({ length: killing.workers }, () => scene.start(argument))
  const pace = (): number => Math.floor(startsPerKill * (0.5 + randomness.next()))
  let kills = 0
  for (let starts = pace(); starts < tasks; starts += pace()) {
    await scene.until(() => scene.runs.length >= starts)
    const index = Math.floor(randomness.next() * workers.length)
    await workers[index]?.kill()
    workers[index] = scene.start(argument)
    kills += 1
  }
  return kills
}
