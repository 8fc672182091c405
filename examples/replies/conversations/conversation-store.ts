/** Conversations and their projects, in a separate SQLite file. */
import { Database } from '../../shared/database.ts'
import type { Channel } from '../messages.ts'
import type { Refusal } from './rules.ts'

/** A refused message: its id and the reason, without its text. */
export interface RefusedMessage {
  readonly message_sid: string
  readonly channel_type: Channel
  readonly because: 'unknown_conversation' | Refusal
  readonly at: string
}

export interface Conversation {
  readonly conversation_id: string
  readonly channel_type: Channel
  /** The customer's number or address. */
  readonly customer: string
  /** Our number or address. */
  readonly line: string
  readonly project_id: string
  readonly company_id: string
  readonly thread_id: string
  readonly customer_name: string
  readonly current_step: string
  readonly project_active: boolean
  readonly allowed_channels: readonly Channel[]
  /** Every message goes to a person. */
  readonly auto_queue: boolean
  /** How long messages are collected; null for the default. */
  readonly window_seconds: number | null
}

export type NewConversation = Omit<Conversation, 'window_seconds'> &
  Partial<Pick<Conversation, 'window_seconds'>>

const schema = `
  CREATE TABLE IF NOT EXISTS conversation (
    conversation_id TEXT PRIMARY KEY,
    channel_type TEXT NOT NULL, customer TEXT NOT NULL, line TEXT NOT NULL,
    details TEXT NOT NULL,
    UNIQUE (channel_type, customer, line)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS refused_message (
    message_sid TEXT NOT NULL, channel_type TEXT NOT NULL, because TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (channel_type, message_sid)
  ) STRICT;`

export class ConversationStore {
  readonly #db: Database

  constructor(file: string) {
    this.#db = new Database(file, schema)
  }

  add(conversation: NewConversation): void {
    const { conversation_id, channel_type, customer, line, ...details } = conversation
    const sql = 'INSERT OR REPLACE INTO conversation VALUES (?, ?, ?, ?, ?)'
    this.#db.run(sql, conversation_id, channel_type, customer, line, JSON.stringify(details))
  }

  /** Channel, sender and recipient identify the conversation. */
  find(channel: Channel, customer: string, line: string): Conversation | undefined {
    const sql = 'SELECT * FROM conversation WHERE channel_type = ? AND customer = ? AND line = ?'
    const row = this.#db.get(sql, channel, customer, line)
    if (row === undefined) return undefined
    const { details, ...keys } = row
    // Only `add` writes these rows, so the type is known.
    return { window_seconds: null, ...JSON.parse(String(details)), ...keys } as Conversation
  }

  /** Records why a message was refused. The first refusal of a message is kept. */
  noteRefused({ message_sid, channel_type, because, at }: RefusedMessage): void {
    const sql = 'INSERT OR IGNORE INTO refused_message VALUES (?, ?, ?, ?)'
    this.#db.run(sql, message_sid, channel_type, because, at)
  }

  get refused(): readonly RefusedMessage[] {
    return this.#db.all<RefusedMessage>('SELECT * FROM refused_message ORDER BY at, rowid')
  }

  close(): void {
    this.#db.close()
  }
}
