/** The port of collectors on SQLite. */
import type { Page } from '../../backend.ts'
import type {
  AddedItem,
  AddItems,
  BatchResult,
  BeginBatch,
  CollectedKey,
  CollectorKey,
  CollectorStore,
  KeySummary,
  ListKeys,
  ReadKey,
  RepairedKeys,
  RepairKeys,
} from '../../collector-store.ts'
import type { Session } from '../driver/session.ts'
import type { Writer } from '../driver/writer.ts'
import { beginBatch } from './batches.ts'
import { flushKey, refuseItems, stageItems } from './collecting.ts'
import { listKeys, readKey } from './collector-reading.ts'
import { repairKeys } from './collector-repair.ts'

type Read = <T>(run: (session: Session, now: number) => T) => Promise<T>

export class SqliteCollectorStore implements CollectorStore {
  readonly #writer: Writer
  readonly #read: Read

  constructor(writer: Writer, read: Read) {
    this.#writer = writer
    this.#read = read
  }

  add(request: AddItems): Promise<readonly AddedItem[]> {
    return this.#writer.add((tx) => {
      const refusal = refuseItems(tx, request)
      if (refusal !== undefined) throw refusal
      return stageItems(tx, request)
    })
  }

  begin(request: BeginBatch): Promise<BatchResult> {
    return this.#writer.submit((tx) => beginBatch(tx, request))
  }

  read(request: ReadKey): Promise<CollectedKey | undefined> {
    return this.#read((session, now) => readKey({ session, now }, request))
  }

  list(request: ListKeys): Promise<Page<KeySummary>> {
    return this.#read((session, now) => listKeys({ session, now }, request))
  }

  flush(request: CollectorKey): Promise<boolean> {
    return this.#writer.submit((tx) => flushKey(tx, request))
  }

  repair(request: RepairKeys): Promise<RepairedKeys> {
    return this.#writer.submit((tx) => repairKeys(tx, request))
  }
}
