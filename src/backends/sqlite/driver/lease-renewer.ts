/**
 * Extends and releases leases from another thread, on its own connection, while the thread that holds
 * them is busy with a handler. It has nothing else to do, so it blocks while it waits for the store.
 */

import { MillraceError } from '../../../core/millrace-error.ts'
import { systemPorts } from '../../../core/ports.ts'
import { extendLeases } from '../../../engine/messages/extending.ts'
import { settleLeases } from '../../../engine/messages/settling.ts'
import { runAtOnce, type Step } from '../../../engine/steps.ts'
import { StoreClock } from '../../../engine/store-clock.ts'
import type { LeaseRenewer, OtherThread } from '../../backend.ts'
import { openDatabase } from './database.ts'
import { releaseReserve } from './disk-room.ts'
import { LockFairness } from './lock-fairness.ts'
import { uptimeOf } from './machine-uptime.ts'
import { Session } from './session.ts'
import { isDeviceFault, isFullFault, storageError } from './storage-fault.ts'
import type { StoreTransaction } from './transaction.ts'
import { beginTransaction } from './transaction.ts'
import { WakeFile, wakeFileOf } from './wake-file.ts'

/** How long an extension waits for other connections before it fails, by default. */
const defaultBusyTimeoutMs = 5_000

/** Pause between two tries. */
const retryMs = 1

/** The rows of live leases are few, and the file's other pages are of no use here. */
const cacheKilobytes = 512

/** This file, as `import()` takes it, from the sources and from the build. */
export const renewerModule: string = import.meta.url

export function openRenewer(options: OtherThread['options']): LeaseRenewer {
  const { clock, ids } = systemPorts
  const storeClock = new StoreClock({ clock, uptime: uptimeOf(clock) })
  const path = String(options['file'])
  const busyTimeoutMs = Number(options['busyTimeoutMs'] ?? defaultBusyTimeoutMs)
  const open = (): Session => {
    const db = openDatabase(path)
    db.exec(`PRAGMA cache_size = -${cacheKilobytes}`)
    return new Session(db, storeClock, ids)
  }
  let session: Session | undefined
  const fairness = new LockFairness(wakeFileOf(path), clock)
  const wakeFile = new WakeFile({
    file: wakeFileOf(path),
    ports: systemPorts,
    version: () => 0,
    onChange: () => undefined,
    isAwaited: () => false,
  })

  const begin = (on: Session): StoreTransaction => {
    const startedMs = clock.monotonic()
    for (;;) {
      const tx = beginTransaction(on)
      if (tx !== undefined) return tx
      if (clock.monotonic() - startedMs > busyTimeoutMs) throw new MillraceError('store_busy')
      fairness.requestTurn(clock.monotonic() - startedMs)
      pauseThread(retryMs)
    }
  }

  const tryOnce = <T>(rule: (tx: StoreTransaction) => Step<T>): T => {
    session ??= open()
    try {
      const tx = begin(session)
      const result = runAtOnce(rule(tx))
      tx.commit()
      return result
    } catch (error) {
      session = afterFault(session, error)
      throw error
    }
  }
  const commit = <T>(rule: (tx: StoreTransaction) => Step<T>): T => {
    try {
      return tryOnce(rule)
    } catch (error) {
      if (isFullFault(error) && releaseReserve(path)) return tryOnce(rule)
      throw storageError(error)
    }
  }

  return {
    // A file is opened soon enough when it is needed.
    open: async () => undefined,
    extend: async (request) => commit((tx) => extendLeases(tx, request)),
    async release({ queue, receipts }) {
      const outcome = { kind: 'release' } as const
      const settlements = receipts.map((receipt) => ({ receipt, outcome }))
      commit((tx) => settleLeases(tx, { queue, settlements }))
      wakeFile.notify()
    },
    async close() {
      session?.close()
      fairness.close()
      wakeFile.close()
    },
  }
}

/** Undefined when the connection is not to be trusted any more. */
function afterFault(session: Session, error: unknown): Session | undefined {
  try {
    session.rollback()
    if (!isDeviceFault(error)) return session
    session.close()
  } catch {
    // Nothing that was acknowledged depends on it; the next extension opens the file again.
  }
  return undefined
}

const never = new Int32Array(new SharedArrayBuffer(4))

/** A thread that does nothing else may sleep; timers would need its event loop. */
function pauseThread(ms: number): void {
  Atomics.wait(never, 0, 0, ms)
}
