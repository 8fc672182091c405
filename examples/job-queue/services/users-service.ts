/** Users and the credits of their subscriptions. */
import type { Database } from '../../shared/database.ts'

export interface User {
  readonly id: string
  readonly email: string
}

/** The subscription has no credits left. */
export class InsufficientCreditsError extends Error {
  constructor() {
    super('The subscription has no AI credits left.')
    this.name = 'InsufficientCreditsError'
  }
}

export class UsersService {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Adds or updates a user. */
  save({ id, email }: User, aiCredits: number): void {
    this.#database.transaction(() => {
      this.#database.run('INSERT OR REPLACE INTO user (id, email) VALUES (?, ?)', id, email)
      this.#database.run('INSERT OR REPLACE INTO subscription VALUES (?, ?)', id, aiCredits)
    })
  }

  find(id: string): User | undefined {
    return this.#database.get<User>('SELECT id, email FROM user WHERE id = ?', id)
  }

  delete(id: string): void {
    this.#database.transaction(() => {
      this.#database.run('DELETE FROM user WHERE id = ?', id)
      this.#database.run('DELETE FROM subscription WHERE user_id = ?', id)
    })
  }

  creditsOf(userId: string): number {
    const sql = 'SELECT ai_credits AS credits FROM subscription WHERE user_id = ?'
    return this.#database.get<{ credits: number }>(sql, userId)?.credits ?? 0
  }

  /**
   * Takes one credit for a piece of work. The key identifies the work, so it is paid for once even if it is
   * retried. Throws if no credit is left.
   */
  useAiCredit(userId: string, key: string): void {
    const database = this.#database
    database.transaction(() => {
      const sql = 'INSERT OR IGNORE INTO credit_use (key, user_id, used_at) VALUES (?, ?, ?)'
      const isNew = database.run(sql, key, userId, Date.now()) === 1
      if (!isNew) return
      const take =
        'UPDATE subscription SET ai_credits = ai_credits - 1 WHERE user_id = ? AND ai_credits > 0'
      if (database.run(take, userId) === 0) throw new InsufficientCreditsError()
    })
  }
}
