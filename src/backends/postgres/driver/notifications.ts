/**
 * Notifies other processes of queues that have changed, and receives their notifications. These are hints:
 * waiting receives also poll. Commits that notify wait for each other's disk. So after one that did, those of
 * this process do not for as long as it took: that is longer where many processes notify. Then a statement
 * does it soon after the commit, once for all commits of a moment, and nothing waits for its disk.
 */
import type { Client } from 'pg'
import type { Ports } from '../../../core/ports.ts'
import type { Connections } from './connections.ts'
import { quotedName } from './quoted-name.ts'

/** Longer lists of queues do not fit: then none is named. */
const payloadLengthMax = 7_000

/** The server evaluates the setting when the statement commits. */
const notifyLater =
  "SELECT set_config('synchronous_commit', 'off', true), pg_notify(CAST($1 AS TEXT), CAST($2 AS TEXT))"

/** Pause before a lost connection is made again. */
const reconnectMs = 1_000

export interface NotificationsOptions {
  readonly ports: Ports
  readonly connections: Connections
  readonly channel: string
  /** A connection of its own, which is not shared and not pooled. */
  readonly connect: () => Client
  /** Undefined: any queue may have changed. */
  readonly onChange: (changes?: QueueChanges) => void
}

/** Queues in which something has changed. */
export interface QueueChanges {
  readonly queues: ReadonlySet<string>
  /** Those of them that have gained a ready message. */
  readonly gained: ReadonlySet<string>
}

export type Notification = readonly [channel: string, payload: string]

/** What is sent to tell that queues have changed. */
export function notificationOf(sender: string, { queues, gained }: QueueChanges): string {
  const all = JSON.stringify([sender, [...queues], [...gained]])
  return all.length > payloadLengthMax ? JSON.stringify([sender]) : all
}

export class Notifications {
  readonly #options: NotificationsOptions
  readonly #queues = new Set<string>()
  readonly #gained = new Set<string>()
  /** Tells the notifications of this process from those of others. */
  readonly #sender: string
  #sending: Promise<void> | undefined
  /** When the latest commit that notifies was sent. */
  #commitMs = 0
  /** From when on another one may. */
  #nextCommitMs = 0
  #client: Client | undefined
  #listening: Promise<void> | undefined
  #cancelReconnect: (() => void) | undefined
  #isClosed = false

  constructor(options: NotificationsOptions) {
    this.#options = options
    this.#sender = options.ports.ids.next()
  }

  /** What a commit tells the others that comes now. Undefined: send it after the commit. */
  ofCommit(changes: QueueChanges): Notification | undefined {
    const nowMs = this.#options.ports.clock.monotonic()
    if (nowMs < this.#nextCommitMs) return undefined
    this.#commitMs = nowMs
    return [this.#options.channel, notificationOf(this.#sender, changes)]
  }

  /** A commit that notifies has ended. */
  committed(): void {
    const nowMs = this.#options.ports.clock.monotonic()
    this.#nextCommitMs = nowMs + (nowMs - this.#commitMs)
  }

  /** Tells the others soon. */
  send({ queues, gained }: QueueChanges): void {
    for (const queue of queues) this.#queues.add(queue)
    for (const queue of gained) this.#gained.add(queue)
    if (this.#sending !== undefined || this.#queues.size === 0) return
    this.#sending = new Promise((resolve) => {
      this.#options.ports.timers.soon(() => resolve(this.#sendAll()))
    })
  }

  /** Resolves when all that was given so far is sent. */
  async whenSent(): Promise<void> {
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    const { connections, channel } = this.#options
    while (this.#queues.size > 0) {
      const payload = notificationOf(this.#sender, { queues: this.#queues, gained: this.#gained })
      this.#queues.clear()
      this.#gained.clear()
      // Others find out by their poll.
      await connections.query(notifyLater, [channel, payload]).catch(() => undefined)
    }
    this.#sending = undefined
  }

  /** Receives notifications from now on. Resolves after the first try. */
  listen(): Promise<void> {
    this.#listening ??= this.#connect()
    return this.#listening
  }

  async #connect(): Promise<void> {
    const client = this.#options.connect()
    this.#client = client
    client.on('notification', ({ payload = '[]' }) => this.#heard(payload))
    client.on('error', () => this.#reconnect(client))
    client.on('end', () => this.#reconnect(client))
    await this.#listenOn(client).catch(() => this.#reconnect(client))
  }

  async #listenOn(client: Client): Promise<void> {
    await client.connect()
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const { processID } = client as Client & { readonly processID?: number }
    if (rows[0]?.pid !== processID) {
      // A pooler is in between, which shares connections and passes no notifications on. The poll is left.
      await this.close()
      return
    }
    await client.query(`LISTEN ${quotedName(this.#options.channel)}`)
  }

  #heard(payload: string): void {
    const [sender, queues, gained]: [string?, string[]?, string[]?] = JSON.parse(payload)
    // Its own changes are known here.
    if (sender === this.#sender) return
    this.#options.onChange(queues && { queues: new Set(queues), gained: new Set(gained) })
  }

  #reconnect(client: Client): void {
    if (this.#client !== client || this.#isClosed) return
    this.#client = undefined
    client.end().catch(() => undefined)
    const { timers } = this.#options.ports
    const again = (): void => {
      this.#cancelReconnect = undefined
      // Something may have changed while nothing listened.
      void this.#connect().then(() => this.#options.onChange())
    }
    this.#cancelReconnect = timers.after(reconnectMs, again, { background: true })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelReconnect?.()
    await this.#client?.end().catch(() => undefined)
  }
}
