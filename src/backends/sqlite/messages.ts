/** The row of a message, and how it becomes a record of the port. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { MessageState } from '../../core/message-state.ts'
import { formatReceipt } from '../../core/receipt.ts'
import type {
  DeadLetterOrigin,
  Delivery,
  MessageAttribute,
  NewMessage,
  PeekedMessage,
} from '../backend.ts'
import { getRow } from './rows.ts'
import type { Session } from './session.ts'

/** States as they are stored. */
export const ready = 0
export const leased = 1
export const delayed = 2

/** No lease has this token; those that are given out rise from here. */
export const nobodysToken: number = 2 ** 40

export const stateNames: readonly MessageState[] = ['ready', 'leased', 'delayed']

/**
 * The id that a message gets when it is sent: a UUID made of the store's random prefix and the
 * sequence number. It need not be stored, which makes rows an eighth shorter.
 */
export function idFromSequence(prefix: string, sequence: number): string {
  const number = sequence.toString(16).padStart(12, '0')
  return `${prefix}-${number}`
}

/** The store's random digits in the form of a UUID of version 8, up to its last group. */
export function formatIdPrefix(digits: string): string {
  const part = (from: number, to: number): string => digits.slice(from, to)
  return `${part(0, 8)}-${part(8, 12)}-8${part(12, 14)}0-8000`
}

export function idOf(row: Pick<ContentRow, 'id' | 'sequence'>, session: Session): string {
  return row.id ?? idFromSequence(session.idPrefix, row.sequence)
}

/** Bodies above this many UTF-16 units are kept apart: a quarter of a page at the least. */
const inlineLengthMax = 1_024

/** What a delivery is made of. Receives read nothing more: every column costs time. */
export interface ContentRow {
  readonly sequence: number
  readonly receive_count: number
  readonly first_received_at: number
  readonly sent_at: number
  readonly id: string | null
  readonly group_name: string | null
  readonly deduplication_id: string | null
  readonly origin: string | null
  readonly attributes: string | null
  readonly body: string | null
}

export const contentColumns = `sequence, receive_count,
  coalesce(first_received_at, leased_at) AS first_received_at, sent_at, id, group_name,
  deduplication_id, origin, attributes, body`

export const messageColumns: string = `${contentColumns}, generation, state, due_at, held_until, token, leased_at`

export interface MessageRow extends ContentRow {
  readonly generation: number
  readonly state: number
  readonly due_at: number
  readonly held_until: number | null
  readonly token: number
  readonly leased_at: number
}

export interface BodyStatements {
  readonly keepApart: StatementSync
  readonly readApart: StatementSync
  readonly dropApart: StatementSync
  readonly renumberApart: StatementSync
}

export function prepareBodies(db: DatabaseSync): BodyStatements {
  return {
    keepApart: db.prepare('INSERT INTO message_body (sequence, body) VALUES (?, ?)'),
    readApart: db.prepare('SELECT body FROM message_body WHERE sequence = ?'),
    dropApart: db.prepare('DELETE FROM message_body WHERE sequence = ?'),
    renumberApart: db.prepare('UPDATE message_body SET sequence = ? WHERE sequence = ?'),
  }
}

export function isKeptApart(body: string): boolean {
  return body.length > inlineLengthMax
}

interface StoredAttributes {
  /** Name, type, value; bytes are base64 with a fourth member that says so. */
  readonly own?: readonly (readonly [string, string, string, 1?])[]
  readonly system?: Readonly<Record<string, string>>
}

export function encodeAttributes({ attributes, systemAttributes }: NewMessage): string | null {
  if (attributes === undefined && systemAttributes === undefined) return null
  const stored: StoredAttributes = {
    ...(attributes && { own: Object.entries(attributes).map(encodeAttribute) }),
    ...(systemAttributes && { system: systemAttributes }),
  }
  return JSON.stringify(stored)
}

function encodeAttribute([name, { type, value }]: [string, MessageAttribute]): readonly [
  string,
  string,
  string,
  1?,
] {
  if (typeof value === 'string') return [name, type, value]
  return [name, type, Buffer.from(value).toString('base64'), 1]
}

const noAttributes = { attributes: {}, systemAttributes: {} } as const

function decodeAttributes(text: string | null): Pick<Delivery, 'attributes' | 'systemAttributes'> {
  if (text === null) return noAttributes
  const stored: StoredAttributes = JSON.parse(text)
  const own = (stored.own ?? []).map(([name, type, value, isBytes]) => [
    name,
    { type, value: isBytes === 1 ? new Uint8Array(Buffer.from(value, 'base64')) : value },
  ])
  return { attributes: Object.fromEntries(own), systemAttributes: stored.system ?? {} }
}

export interface Lease {
  readonly queueId: number
  readonly token: number
  readonly leaseExpiresAt: number
  readonly receiveCount: number
  readonly firstReceivedAt: number
}

// Both records are written out: this runs for every delivery, and spreading objects is slow.

export function deliveryFromRow(row: ContentRow, session: Session, lease: Lease): Delivery {
  const { sequence } = row
  const { queueId, token, leaseExpiresAt, receiveCount, firstReceivedAt } = lease
  const { attributes, systemAttributes } = decodeAttributes(row.attributes)
  return {
    id: idOf(row, session),
    sequence,
    body: row.body ?? bodyKeptApart(row, session),
    attributes,
    systemAttributes,
    group: row.group_name,
    deduplicationId: row.deduplication_id,
    sentAt: row.sent_at,
    firstReceivedAt,
    receiveCount,
    deadLetter: decodeOrigin(row.origin),
    receipt: formatReceipt({ queueId, sequence, token }),
    token,
    leaseExpiresAt,
  }
}

export function peekedFromRow(row: MessageRow, session: Session): PeekedMessage {
  const { attributes, systemAttributes } = decodeAttributes(row.attributes)
  return {
    id: idOf(row, session),
    sequence: row.sequence,
    body: row.body ?? bodyKeptApart(row, session),
    attributes,
    systemAttributes,
    group: row.group_name,
    deduplicationId: row.deduplication_id,
    sentAt: row.sent_at,
    firstReceivedAt: row.receive_count === 0 ? null : row.first_received_at,
    receiveCount: row.receive_count,
    deadLetter: decodeOrigin(row.origin),
    state: stateNames[row.state] ?? 'ready',
    dueAt: row.state === ready ? null : (row.held_until ?? row.due_at),
  }
}

function bodyKeptApart({ sequence }: ContentRow, session: Session): string {
  return getRow<{ body: string }>(session.bodies.readApart, sequence)?.body ?? ''
}

function decodeOrigin(text: string | null): DeadLetterOrigin | null {
  return text === null ? null : JSON.parse(text)
}
