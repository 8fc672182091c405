/**
 * plainjob, a queue on SQLite, with the same durability as Millrace. It sets `synchronous = NORMAL`, which can lose
 * jobs in a power cut, so the benchmark sets FULL afterwards.
 */
import { DatabaseSync } from 'node:sqlite'
import type { Connection, Queue } from 'plainjob'
import { loadPeer, type Skipped } from '../peers.ts'
import { perSecond } from '../report.ts'
import { payload } from './app.ts'

export class Plainjob {
  readonly #queue: Queue

  private constructor(queue: Queue) {
    this.#queue = queue
  }

  static async open(file: string): Promise<Plainjob | Skipped> {
    const peer = await loadPeer('plainjob', () => import('plainjob'))
    if ('skipped' in peer) return peer
    const db = new DatabaseSync(file)
    const quiet = (): void => undefined
    const logger = { debug: quiet, info: quiet, warn: console.warn, error: console.error }
    const queue = peer.defineQueue({ connection: connectionOf(db, file), logger })
    db.exec('PRAGMA synchronous = FULL')
    return new Plainjob(queue)
  }

  /** One job and one commit per call; returns jobs per second. */
  enqueue(count: number): number {
    const startedMs = performance.now()
    for (let done = 0; done < count; done += 1) this.#queue.add('OCR', payload)
    return perSecond(count, performance.now() - startedMs)
  }

  /** 1,000 jobs and one commit per call; returns jobs per second. */
  enqueueBulk(count: number): number {
    const payloads = Array.from({ length: 1_000 }, () => payload)
    const startedMs = performance.now()
    for (let done = 0; done < count; done += payloads.length) this.#queue.addMany('OCR', payloads)
    return perSecond(count, performance.now() - startedMs)
  }

  close(): void {
    this.#queue.close()
  }
}

/** plainjob accepts any connection of this shape. With `node:sqlite`, both use the same SQLite. */
function connectionOf(db: DatabaseSync, filename: string): Connection {
  const begin = db.prepare('BEGIN')
  const beginImmediate = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const inside =
    <Args extends readonly unknown[], Result>(
      start: typeof begin,
      run: (...args: Args) => Result,
    ): ((...args: Args) => Result) =>
    (...args) => {
      start.run()
      try {
        const result = run(...args)
        commit.run()
        return result
      } catch (error) {
        db.exec('ROLLBACK')
        throw error
      }
    }
  return {
    driver: 'better-sqlite3',
    filename,
    pragma: (text) => db.exec(`PRAGMA ${text}`),
    exec: (text) => db.exec(text),
    prepare: (text) => {
      const statement = db.prepare(text)
      return {
        run: (...params: Parameters<typeof statement.run>) => {
          const { changes, lastInsertRowid } = statement.run(...params)
          return { changes: Number(changes), lastInsertRowid }
        },
        get: (...params: Parameters<typeof statement.get>) => statement.get(...params),
        all: (...params: Parameters<typeof statement.all>) => statement.all(...params),
      }
    },
    transaction: (run) =>
      Object.assign(inside(begin, run), { immediate: inside(beginImmediate, run) }),
    close: () => db.close(),
  }
}
