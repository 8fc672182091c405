/**
 * Keeps the memory of a busy worker small. V8 doubles the space for new objects whenever enough of them
 * survive, up to 100 MB on machines with much memory. It lets the rest of the heap grow to four times its
 * live objects between two full collections. Objects of jobs live for milliseconds, so a space of 8 MB and a
 * factor of 1.5 are as fast, and the process stays 100 MB smaller. Waiting requests live longer, so a server
 * has a space of 32 MB.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import type { Timers } from '../core/ports.ts'

type Program = 'worker' | 'server'

const youngBytesMax: Readonly<Record<Program, number>> = {
  worker: 8 * 2 ** 20,
  server: 32 * 2 ** 20,
}

/** Less than a doubling takes, even at full speed. */
const intervalMs = 500

let isWatched = false

/**
 * Limits the growth for the whole process. Does nothing if the user has set the size of the space for new
 * objects. V8 reads both flags whenever it is about to grow, even after startup.
 */
export function limitHeapGrowth(program: Program, timers: Pick<Timers, 'after'>): void {
  const options = [...process.execArgv, process.env['NODE_OPTIONS']].join(' ')
  if (isWatched || /semi[-_]space/.test(options)) return
  isWatched = true
  const look = (): void => {
    if (youngBytes() >= youngBytesMax[program]) setFlagsFromString('--semi-space-growth-factor=1')
    else timers.after(intervalMs, look, { background: true })
  }
  try {
    setFlagsFromString('--heap-growing-percent=50')
    look()
  } catch {
    // Other runtimes have neither the statistics nor the flags. A worker runs without them.
  }
}

function youngBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
  return space?.space_size ?? 0
}
