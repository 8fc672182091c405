/** The port of handoff on SQLite. */
import type { Page } from '../../backend.ts'
import type {
  ClaimInboxItem,
  ClaimResult,
  CountInboxItems,
  EndInboxItem,
  InboxCounts,
  InboxEvent,
  InboxItemId,
  InboxItemRecord,
  InboxRecord,
  InboxResult,
  InboxStore,
  ListInboxItems,
  NoteInboxItem,
  RenewInboxItem,
  ResolveInboxItem,
} from '../../inbox-store.ts'
import type { Session } from '../driver/session.ts'
import type { Writer } from '../driver/writer.ts'
import {
  inboxHistory,
  noteOnMessage,
  readInboxMessage,
  releaseMessage,
  renewClaim,
  resolveMessage,
} from './inbox.ts'
import { claimMessage } from './inbox-claiming.ts'
import { inboxes } from './inbox-events.ts'
import { countInboxMessages, listInboxMessages } from './inbox-listing.ts'

type Read = <T>(run: (session: Session, now: number) => T) => Promise<T>

/** Looking goes through the writer too: it ends what has lapsed, so that nobody is shown a past claim. */
export class SqliteInboxStore implements InboxStore {
  readonly #writer: Writer
  readonly #read: Read

  constructor(writer: Writer, read: Read) {
    this.#writer = writer
    this.#read = read
  }

  list(request: ListInboxItems): Promise<Page<InboxItemRecord>> {
    return this.#writer.submit((tx) => listInboxMessages(tx, request))
  }

  counts(request: CountInboxItems): Promise<InboxCounts> {
    return this.#writer.submit((tx) => countInboxMessages(tx, request))
  }

  read(request: InboxItemId): Promise<InboxItemRecord | undefined> {
    return this.#writer.submit((tx) => readInboxMessage(tx, request))
  }

  claim(request: ClaimInboxItem): Promise<ClaimResult> {
    return this.#writer.submit((tx) => claimMessage(tx, request))
  }

  renew(request: RenewInboxItem): Promise<InboxResult> {
    return this.#writer.submit((tx) => renewClaim(tx, request))
  }

  note(request: NoteInboxItem): Promise<InboxResult> {
    return this.#writer.submit((tx) => noteOnMessage(tx, request))
  }

  resolve(request: ResolveInboxItem): Promise<InboxResult> {
    return this.#writer.submit((tx) => resolveMessage(tx, request))
  }

  giveBack(request: EndInboxItem): Promise<InboxResult> {
    return this.#writer.submit((tx) => releaseMessage(tx, request))
  }

  history(request: InboxItemId): Promise<readonly InboxEvent[]> {
    return this.#writer.submit((tx) => inboxHistory(tx, request))
  }

  used(): Promise<readonly InboxRecord[]> {
    return this.#read((session) => inboxes(session))
  }
}
