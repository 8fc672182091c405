/** The port of flows on SQLite. */
import type { Page } from '../../backend.ts'
import type {
  AddedUnits,
  AddUnits,
  FlowCounts,
  FlowKey,
  FlowRecord,
  FlowStore,
  ListFlows,
  ListUnits,
  MarkUnits,
  OpenedFlow,
  OpenFlow,
  ResumeFlow,
  StartUnit,
  UnitRecord,
} from '../../flow-store.ts'
import type { Session } from '../driver/session.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Writer } from '../driver/writer.ts'
import {
  cancelFlow,
  markUnits,
  refuseMarks,
  refuseStart,
  resumeFlow,
  startUnit,
} from './flow-control.ts'
import { countFlows } from './flow-counts.ts'
import { listFlows, listUnits } from './flow-listing.ts'
import { addUnits, openFlow, refuseOpening, sealFlow } from './flow-opening.ts'
import { findFlow, recordOf } from './flow-rows.ts'

type Read = <T>(run: (session: Session, now: number) => T) => Promise<T>

export class SqliteFlowStore implements FlowStore {
  readonly #writer: Writer
  readonly #read: Read

  constructor(writer: Writer, read: Read) {
    this.#writer = writer
    this.#read = read
  }

  open(request: OpenFlow): Promise<OpenedFlow> {
    return this.#writer.add((tx) => unlessRefused(tx, request, refuseOpening, openFlow))
  }

  add(request: AddUnits): Promise<AddedUnits> {
    return this.#writer.add((tx) => addUnits(tx, request))
  }

  seal(request: FlowKey): Promise<FlowRecord> {
    return this.#writer.submit((tx) => sealFlow(tx, request))
  }

  mark(request: MarkUnits): Promise<FlowRecord> {
    return this.#writer.submit((tx) => unlessRefused(tx, request, refuseMarks, markUnits))
  }

  start(request: StartUnit): Promise<FlowRecord> {
    return this.#writer.add((tx) => unlessRefused(tx, request, refuseStart, startUnit))
  }

  cancel(request: FlowKey): Promise<FlowRecord> {
    return this.#writer.submit((tx) => cancelFlow(tx, request))
  }

  resume(request: ResumeFlow): Promise<FlowRecord> {
    return this.#writer.add((tx) => resumeFlow(tx, request))
  }

  read(request: FlowKey): Promise<FlowRecord | undefined> {
    return this.#read((session, now) => {
      const row = findFlow(session, request)
      return row === undefined ? undefined : recordOf(session, row, now)
    })
  }

  list(request: ListFlows): Promise<Page<FlowRecord>> {
    return this.#read((session, now) => listFlows(session, request, now))
  }

  units(request: ListUnits): Promise<Page<UnitRecord>> {
    return this.#read((session) => listUnits(session, request))
  }

  counts(): Promise<readonly FlowCounts[]> {
    return this.#read(countFlows)
  }
}

function unlessRefused<Request, Answer>(
  tx: StoreTransaction,
  request: Request,
  refuse: (tx: StoreTransaction, request: Request) => Error | undefined,
  apply: (tx: StoreTransaction, request: Request) => Answer,
): Answer {
  const refusal = refuse(tx, request)
  if (refusal !== undefined) throw refusal
  return apply(tx, request)
}
