/** A channel that keeps what it should send, in a table, so that the example needs no provider. */
import { DatabaseSync } from 'node:sqlite'
import type { Answer, ReplyChannel } from './reply-channel.ts'

export class Outbox implements ReplyChannel {
  readonly #db: DatabaseSync

  constructor(file: string) {
    this.#db = new DatabaseSync(file)
    this.#db.exec(`
      PRAGMA busy_timeout = 5000;
      PRAGMA journal_mode = WAL;
      CREATE TABLE IF NOT EXISTS answer (
        conversation_id TEXT NOT NULL, answers TEXT NOT NULL, channel_type TEXT NOT NULL,
        sender_id TEXT NOT NULL, recipient_id TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (conversation_id, answers)
      ) STRICT;`)
  }

  async hasSent(conversationId: string, answers: string): Promise<boolean> {
    const row = this.#db
      .prepare('SELECT 1 FROM answer WHERE conversation_id = ? AND answers = ?')
      .get(conversationId, answers)
    return row !== undefined
  }

  async send(answer: Answer): Promise<void> {
    const { conversation_id, answers, channel_type, sender_id, recipient_id, body } = answer
    this.#db
      .prepare('INSERT OR IGNORE INTO answer VALUES (?, ?, ?, ?, ?, ?)')
      .run(conversation_id, answers, channel_type, sender_id, recipient_id, body)
  }

  /** What was sent, oldest first. */
  get sent(): readonly Answer[] {
    const rows = this.#db.prepare('SELECT * FROM answer ORDER BY rowid').all()
    // Written by `send`, and by nobody else.
    return rows.map((row) => ({ ...row }) as unknown as Answer)
  }

  close(): void {
    this.#db.close()
  }
}
