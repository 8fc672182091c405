/**
 * Where a store is: in a file that several processes may share, with small files beside it, or in the memory
 * of this process. A store in memory shares nothing, so it needs none of those files and no polling.
 */
import { resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Ports } from '../../../core/ports.ts'
import type { OtherThread } from '../../other-thread.ts'
import { openDatabase } from './database.ts'
import { type DiskLimits, DiskRoom, pagesMax } from './disk-room.ts'
import { FileIdentity } from './file-identity.ts'
import { renewerModule } from './lease-renewer.ts'
import { LockFairness } from './lock-fairness.ts'
import { openMemoryDatabase } from './memory-database.ts'
import { WakeFile, type WakeFileOptions, wakeFileOf } from './wake-file.ts'

/** The name of a store in memory. */
export const memoryFile = ':memory:'

export interface StorePlace {
  /** Whether other processes may change the store, so that it must be read again and again. */
  readonly isShared: boolean
  readonly otherThread: OtherThread | null
  openDatabase(): DatabaseSync
  /** What lies beside an open store. Nothing is put beside a file that turns out not to be a store. */
  surroundings(): Surroundings
}

export interface Surroundings {
  readonly disk: DiskLimits
  readonly files: Pick<FileIdentity, 'check' | 'reopened'>
  readonly fairness: Pick<LockFairness, 'requestTurn' | 'turnRequestedSince' | 'close'>
  wakeFile(options: Omit<WakeFileOptions, 'file'>): Pick<WakeFile, 'notify' | 'listen' | 'close'>
}

export interface PlaceOptions {
  readonly file: string
  readonly ports: Ports
  /** Whether only this process uses the file. Default: false. */
  readonly isAlone?: boolean | undefined
}

export function storePlace(options: PlaceOptions): StorePlace {
  return options.file === memoryFile ? inMemory(options) : inFile(options)
}

function inFile({ file, ports: { clock }, isAlone = false }: PlaceOptions): StorePlace {
  return {
    isShared: !isAlone,
    otherThread: { module: renewerModule, options: { file: resolve(file) } },
    openDatabase: () => openDatabase(file),
    surroundings: () => ({
      fairness: new LockFairness(wakeFileOf(file), clock),
      disk: new DiskRoom(file),
      files: new FileIdentity(file),
      wakeFile: (options) =>
        isAlone ? noWakeFile : new WakeFile({ ...options, file: wakeFileOf(file) }),
    }),
  }
}

function inMemory({ ports: { ids } }: PlaceOptions): StorePlace {
  let isOpened = false
  return {
    isShared: false,
    otherThread: null,
    openDatabase() {
      // A second one would be another store, and empty.
      if (isOpened) throw new MillraceError('store_failed')
      isOpened = true
      return openMemoryDatabase(ids)
    },
    surroundings: () => noSurroundings,
  }
}

const nothing = (): void => undefined

const noWakeFile = { notify: nothing, listen: nothing, close: nothing }

const noSurroundings: Surroundings = {
  disk: {
    looks: 0,
    isLow: false,
    isFull: false,
    look: nothing,
    release: () => false,
    pageLimit: () => pagesMax,
  },
  files: { check: nothing, reopened: nothing },
  fairness: { requestTurn: nothing, turnRequestedSince: () => undefined, close: nothing },
  wakeFile: () => noWakeFile,
}
