/**
 * The queues and kill switches of a store as one process sees them, under one version of the queues. Queues
 * are read when they are needed; switches are read with the version, because claims check them at once.
 */
import { type Queue, type QueueRow, queueFromRow } from '../../../engine/queues/queue.ts'
import { query } from '../../../engine/statements.ts'
import { readSwitches, Switches } from '../../../engine/switches/switches-on.ts'
import type { StatementRunner } from './connections.ts'

const byName = query<QueueRow>('SELECT * FROM queue WHERE name = ?')

export class QueueCache {
  readonly version: number
  readonly switches: Switches
  readonly #queues = new Map<string, Queue>()

  constructor(version: number, switches: Switches) {
    this.version = version
    this.switches = switches
  }

  static async read(connection: StatementRunner, version: number): Promise<QueueCache> {
    return new QueueCache(version, new Switches(await connection.rows(readSwitches, [])))
  }

  known(name: string): Queue | undefined {
    return this.#queues.get(name)
  }

  async find(connection: StatementRunner, name: string): Promise<Queue | undefined> {
    const [row] = await connection.rows<QueueRow>(byName, [name])
    if (row === undefined) return undefined
    const queue = queueFromRow(row)
    this.#queues.set(name, queue)
    return queue
  }
}
