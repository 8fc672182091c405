/**
 * How long the machine has been up, sleep included. No change of the wall clock moves it, and it is the
 * same for all processes, so it tells a jump of the wall clock from time that has really passed.
 */
import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { type Clock, systemPorts, type Uptime } from '../../../core/ports.ts'

/** The uptime that belongs to a clock: a clock that is handed in brings its own, or has none. */
export function uptimeOf(clock: Clock): () => Uptime | undefined {
  return clock === systemPorts.clock ? machineUptime : () => clock.uptime?.()
}

function machineUptime(): Uptime | undefined {
  try {
    return { boot: bootId(), ms: uptime() * 1_000 }
  } catch {
    return undefined
  }
}

let knownBootId: string | undefined

/**
 * Where the system has no boot id, the id of the process is used: the uptime then shows when the
 * machine has slept, but nothing about the time before the process started.
 */
function bootId(): string {
  knownBootId ??= readBootId() ?? crypto.randomUUID()
  return knownBootId
}

function readBootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return undefined
  }
}
