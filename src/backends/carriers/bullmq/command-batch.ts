/** Sends the commands of one turn of the event loop together: one write, one sync of the disk, one round trip. */
import type { IRedisClient } from 'bullmq'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Timers } from '../../../core/ports.ts'
import { redisError } from './redis-error.ts'

export type Argument = string | number | boolean | Buffer | null | undefined

export interface CommandBatchOptions {
  readonly client: IRedisClient
  readonly place: string
  readonly timers: Timers
  /** Replaces a connection that does not reply. */
  readonly reset: () => void
}

interface Command {
  readonly name: string
  readonly args: readonly Argument[]
  readonly isScript: boolean
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: MillraceError) => void
}

/** What the pipelines of BullMQ and of ioredis both have. */
interface Pipeline {
  runCommand(name: string, args: readonly Argument[]): unknown
  call(name: string, ...args: readonly Argument[]): unknown
  exec(): Promise<readonly (readonly [error: Error | null, reply: unknown])[] | null>
}

/** So that one call with large messages does not need them all twice in memory. */
const commandsMax = 1_000
const charactersMax = 4_000_000

/** A network that has failed silently: the connection is then replaced. */
const replyMsMax = 15_000

export class CommandBatch {
  readonly #options: CommandBatchOptions
  #waiting: Command[] = []
  readonly #inFlight = new Set<Promise<void>>()

  constructor(options: CommandBatchOptions) {
    this.#options = options
  }

  /** Runs a script that was defined on the client, and returns its reply. */
  run(name: string, args: readonly Argument[]): Promise<unknown> {
    return this.#add({ name, args, isScript: true })
  }

  /** Runs a command of Redis. */
  call(name: string, ...args: readonly Argument[]): Promise<unknown> {
    return this.#add({ name, args, isScript: false })
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    this.#send()
    await Promise.all(this.#inFlight)
  }

  #add(command: Omit<Command, 'resolve' | 'reject'>): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (this.#waiting.length === 0) this.#options.timers.soon(() => this.#send())
    this.#waiting.push({ ...command, resolve, reject })
    return promise
  }

  #send(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const commands of pipelines(waiting)) {
      const sent = this.#exec(commands).finally(() => this.#inFlight.delete(sent))
      this.#inFlight.add(sent)
    }
  }

  async #exec(commands: readonly Command[]): Promise<void> {
    const { client, place, timers, reset } = this.#options
    const fail = (error: unknown): void => {
      const typed = redisError(error, place)
      for (const { reject } of commands) reject(typed)
    }
    const cancel = timers.after(replyMsMax, () => {
      fail(
        new MillraceError('carrier_unreachable', {
          message: `Redis at ${place} does not reply.`,
        }),
      )
      reset()
    })
    try {
      const pipeline = client.pipeline() as unknown as Pipeline
      for (const { name, args, isScript } of commands) {
        if (isScript) pipeline.runCommand(name, args)
        else pipeline.call(name, ...args)
      }
      const replies = (await pipeline.exec()) ?? []
      for (const [index, { resolve, reject }] of commands.entries()) {
        const [error, reply] = replies[index] ?? [new Error('no reply')]
        if (error) reject(redisError(error, place))
        else resolve(reply)
      }
    } catch (error) {
      fail(error)
    } finally {
      cancel()
    }
  }
}

function* pipelines(commands: readonly Command[]): Generator<readonly Command[]> {
  let start = 0
  let characters = 0
  for (const [index, { args }] of commands.entries()) {
    for (const arg of args) if (typeof arg === 'string') characters += arg.length
    if (index - start + 1 < commandsMax && characters < charactersMax) continue
    yield commands.slice(start, index + 1)
    start = index + 1
    characters = 0
  }
  if (start < commands.length) yield commands.slice(start)
}
