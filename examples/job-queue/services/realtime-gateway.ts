/**
 * Sends events to browsers with Socket.IO. A browser sends its token, asks to follow one of its courses, and
 * can name the last event it received. It then gets the events it missed, and all new ones.
 */
import type { Server as HttpServer } from 'node:http'
import type { Logger } from 'millrace'
import { Server, type Socket } from 'socket.io'
import { z } from 'zod'
import { type Course, courseRoom } from './courses-service.ts'
import type { RealtimeEvent, RealtimeEvents } from './realtime-events.ts'

export interface RealtimeGatewayOptions {
  readonly http: HttpServer
  readonly events: RealtimeEvents
  readonly findCourse: (id: string) => Course | undefined
  /** The user of a token; undefined if it is not valid. */
  readonly userOf: (token: string) => Promise<string | undefined>
  /** How often to poll for events of other processes. */
  readonly lookEveryMs?: number
  readonly log: Logger
}

const Handshake = z.object({ token: z.string() })
const Follow = z.object({ course_id: z.string(), after: z.number().int().min(0).default(0) })

export class RealtimeGateway {
  readonly #io: Server
  readonly #options: RealtimeGatewayOptions
  readonly #looking: NodeJS.Timeout
  /** The id of the last event that was sent. */
  #position: number

  constructor(options: RealtimeGatewayOptions) {
    const { http, events, lookEveryMs = 50 } = options
    this.#options = options
    this.#position = events.latest()
    this.#io = new Server(http, { serveClient: false })
    this.#io.use((socket, next) => this.#admit(socket, next))
    this.#io.on('connection', (socket) => {
      socket.on('follow', (request: unknown, answer: unknown) => {
        const followed = this.#follow(socket, request)
        if (typeof answer === 'function') answer(followed)
      })
    })
    this.#looking = setInterval(() => this.#relay(), lookEveryMs)
  }

  async close(): Promise<void> {
    clearInterval(this.#looking)
    await this.#io.close()
  }

  async #admit(socket: Socket, next: (error?: Error) => void): Promise<void> {
    const handshake = Handshake.safeParse(socket.handshake.auth)
    const user = handshake.success ? await this.#options.userOf(handshake.data.token) : undefined
    socket.data = { user }
    next(user === undefined ? new Error('unauthorized') : undefined)
  }

  /** Sends the missed events, then joins the room, without a gap between them. */
  #follow(socket: Socket, request: unknown): { readonly ok: boolean } {
    const { success, data } = Follow.safeParse(request)
    const course = success ? this.#options.findCourse(data.course_id) : undefined
    if (!success || course === undefined || course.owner !== socket.data.user) return { ok: false }
    const room = courseRoom(course.id)
    const missed = { room, after: data.after, upTo: this.#position }
    for (const event of this.#options.events.missed(missed)) emit(socket, event)
    void socket.join(room)
    return { ok: true }
  }

  #relay(): void {
    try {
      for (const event of this.#options.events.after(this.#position)) {
        emit(this.#io.to(event.room), event)
        this.#position = event.id
      }
    } catch {
      // The next poll continues from the same position.
      this.#options.log.error({}, 'events could not be read')
    }
  }
}

function emit(
  to: { emit(name: string, data: object): unknown },
  { id, name, data }: RealtimeEvent,
): void {
  to.emit(name, { id, ...data })
}
