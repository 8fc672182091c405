/** The port of handoff on SQLite. */
import type { Page } from '../../backend.ts'
import type {
  ClaimHandoff,
  ClaimResult,
  CountHandoffs,
  EndHandoff,
  HandoffCounts,
  HandoffEvent,
  HandoffId,
  HandoffRecord,
  HandoffResult,
  HandoffStore,
  InboxRecord,
  ListHandoffs,
  NoteHandoff,
  RenewHandoff,
  ResolveHandoff,
} from '../../inbox-store.ts'
import type { Session } from '../driver/session.ts'
import type { Writer } from '../driver/writer.ts'
import {
  giveBackHandoff,
  handoffHistory,
  noteOnHandoff,
  readHandoff,
  renewHandoff,
  resolveHandoff,
} from './inbox.ts'
import { claimHandoff } from './inbox-claiming.ts'
import { inboxes } from './inbox-events.ts'
import { countHandoffs, listHandoffs } from './inbox-listing.ts'

type Read = <T>(run: (session: Session, now: number) => T) => Promise<T>

/** Looking goes through the writer too: it ends what has lapsed, so that nobody is shown a past claim. */
export class SqliteHandoffStore implements HandoffStore {
  readonly #writer: Writer
  readonly #read: Read

  constructor(writer: Writer, read: Read) {
    this.#writer = writer
    this.#read = read
  }

  list(request: ListHandoffs): Promise<Page<HandoffRecord>> {
    return this.#writer.submit((tx) => listHandoffs(tx, request))
  }

  counts(request: CountHandoffs): Promise<HandoffCounts> {
    return this.#writer.submit((tx) => countHandoffs(tx, request))
  }

  read(request: HandoffId): Promise<HandoffRecord | undefined> {
    return this.#writer.submit((tx) => readHandoff(tx, request))
  }

  claim(request: ClaimHandoff): Promise<ClaimResult> {
    return this.#writer.submit((tx) => claimHandoff(tx, request))
  }

  renew(request: RenewHandoff): Promise<HandoffResult> {
    return this.#writer.submit((tx) => renewHandoff(tx, request))
  }

  note(request: NoteHandoff): Promise<HandoffResult> {
    return this.#writer.submit((tx) => noteOnHandoff(tx, request))
  }

  resolve(request: ResolveHandoff): Promise<HandoffResult> {
    return this.#writer.submit((tx) => resolveHandoff(tx, request))
  }

  giveBack(request: EndHandoff): Promise<HandoffResult> {
    return this.#writer.submit((tx) => giveBackHandoff(tx, request))
  }

  history(request: HandoffId): Promise<readonly HandoffEvent[]> {
    return this.#writer.submit((tx) => handoffHistory(tx, request))
  }

  inboxes(): Promise<readonly InboxRecord[]> {
    return this.#read((session) => inboxes(session))
  }
}
