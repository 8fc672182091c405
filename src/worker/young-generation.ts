/**
 * Keeps a busy worker small. V8 doubles the space for new objects whenever enough of them survive, up to
 * 100 MB on machines with much memory. Objects of jobs live for milliseconds, so a space of 8 MB is as
 * fast, and the process stays 100 MB smaller.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import type { Timers } from '../core/ports.ts'

const bytesMax = 8 * 2 ** 20

/** Each doubling takes longer than this, also at full speed. */
const intervalMs = 500

let isWatched = false

/**
 * Stops the growth once the space is large enough, for the whole process. Does nothing where the user has
 * set the size.
 */
export function limitYoungGeneration(timers: Pick<Timers, 'after'>): void {
  const options = [...process.execArgv, process.env['NODE_OPTIONS']].join(' ')
  if (isWatched || /semi[-_]space/.test(options)) return
  isWatched = true
  const look = (): void => {
    try {
      // V8 reads this flag whenever it is about to grow, also after the start.
      if (youngBytes() >= bytesMax) setFlagsFromString('--semi-space-growth-factor=1')
      else timers.after(intervalMs, look, { background: true })
    } catch {
      // Other runtimes have neither the figure nor the flag, and a worker runs without them.
    }
  }
  look()
}

function youngBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
  return space?.space_size ?? 0
}
