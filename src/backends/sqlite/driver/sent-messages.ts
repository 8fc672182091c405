/**
 * Records every plain message that is sent, for the spies of tests. Triggers do it, so it does not matter
 * which part of Millrace sends, and a transaction that is rolled back has sent nothing.
 */
import type { DatabaseSync } from 'node:sqlite'
import { query } from '../../../engine/statements.ts'
import type { QueueName, StoredMessage } from '../../backend.ts'
import { decodeAttributes } from '../../message-attributes.ts'
import type { Session } from './session.ts'

export interface SentRecord
  extends Pick<
    StoredMessage,
    'id' | 'sequence' | 'body' | 'attributes' | 'group' | 'deduplicationId' | 'sentAt'
  > {
  /** When its delay ends; the time of sending if it has none. */
  readonly readyAt: number
}

/** A dead letter or a redriven message is moved, and not inserted again. */
export function recordSentMessages(db: DatabaseSync): void {
  db.exec(`
    CREATE TABLE IF NOT EXISTS sent_message (
      sequence         INTEGER PRIMARY KEY,
      queue            TEXT NOT NULL,
      sent_at          INTEGER NOT NULL,
      ready_at         INTEGER NOT NULL,
      group_name       TEXT,
      deduplication_id TEXT,
      attributes       TEXT,
      body             TEXT
    ) STRICT;
    CREATE TRIGGER IF NOT EXISTS message_sent AFTER INSERT ON message WHEN new.job_type IS NULL BEGIN
      INSERT INTO sent_message
      SELECT new.sequence, name, new.sent_at,
        CASE new.state WHEN 2 THEN coalesce(new.held_until, new.due_at) ELSE new.sent_at END,
        new.group_name, new.deduplication_id, new.attributes, new.body
      FROM queue WHERE generation = new.generation;
    END;
    CREATE TRIGGER IF NOT EXISTS message_body_sent AFTER INSERT ON message_body BEGIN
      UPDATE sent_message SET body = new.body WHERE sequence = new.sequence;
    END;`)
}

const readSent = query<SentRow>(`
  SELECT sequence, sent_at, ready_at, group_name, deduplication_id, attributes, body
  FROM sent_message WHERE queue = ? ORDER BY sequence`)

interface SentRow {
  readonly sequence: number
  readonly sent_at: number
  readonly ready_at: number
  readonly group_name: string | null
  readonly deduplication_id: string | null
  readonly attributes: string | null
  readonly body: string
}

/** The messages of a queue in the order of sending, also those that are gone. */
export function sentMessages(session: Session, { queue }: QueueName): readonly SentRecord[] {
  return session.all(readSent, queue).map((row) => ({
    id: session.messageIds.of(row.sequence),
    sequence: row.sequence,
    body: row.body,
    attributes: decodeAttributes(row.attributes).attributes,
    group: row.group_name,
    deduplicationId: row.deduplication_id,
    sentAt: row.sent_at,
    readyAt: row.ready_at,
  }))
}
