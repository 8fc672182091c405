/** A channel that writes replies to a table instead of sending them, so the example needs no provider. */
import { Database } from '../../shared/database.ts'
import type { Answer, ReplyChannel } from './reply-channel.ts'

const schema = `
  CREATE TABLE IF NOT EXISTS answer (
    conversation_id TEXT NOT NULL, answers TEXT NOT NULL, channel_type TEXT NOT NULL,
    sender_id TEXT NOT NULL, recipient_id TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (conversation_id, answers)
  ) STRICT`

export class Outbox implements ReplyChannel {
  readonly #db: Database

  constructor(file: string) {
    this.#db = new Database(file, schema)
  }

  async hasSent(conversationId: string, answers: string): Promise<boolean> {
    const sql = 'SELECT 1 FROM answer WHERE conversation_id = ? AND answers = ?'
    return this.#db.get(sql, conversationId, answers) !== undefined
  }

  async send(answer: Answer): Promise<void> {
    const { conversation_id, answers, channel_type, sender_id, recipient_id, body } = answer
    const sql = 'INSERT OR IGNORE INTO answer VALUES (?, ?, ?, ?, ?, ?)'
    this.#db.run(sql, conversation_id, answers, channel_type, sender_id, recipient_id, body)
  }

  /** Oldest first. */
  get sent(): readonly Answer[] {
    return this.#db.all<Answer>('SELECT * FROM answer ORDER BY rowid')
  }

  close(): void {
    this.#db.close()
  }
}
