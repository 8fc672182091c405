/** An open app on a real store, with a virtual clock and a log that the test can read. */
import { onTestFinished, vi } from 'vitest'
import { type Mill, type OpenOptions, open } from '../../src/app/open.ts'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import type { App } from '../../src/contracts/define-app.ts'
import type { LogFields, Logger } from '../../src/observability/logger.ts'
import {
  type VirtualClock,
  type VirtualPorts,
  virtualPorts,
} from '../../src/testing/virtual-clock.ts'
import type { Worker } from '../../src/worker/worker.ts'
import { temporaryFolder } from './temporary-folder.ts'

export interface LogLine {
  readonly level: keyof Logger
  readonly message: string
  readonly fields: LogFields
}

export interface WorkerScene<Opened extends App> {
  readonly mill: Mill<Opened>
  readonly backend: Backend
  readonly clock: VirtualClock
  readonly ports: VirtualPorts
  readonly lines: readonly LogLine[]
  /** Lets pending work finish without moving the clock. */
  settle(): Promise<void>
  /** Waits for a condition without moving the clock. */
  until(what: string, holds: () => boolean | Promise<boolean>): Promise<void>
  /** The texts of all log lines so far. */
  messages(): readonly string[]
}

export interface SceneOptions {
  readonly seed?: number
  /** Wraps the store of the app. */
  readonly wrap?: (backend: Backend) => Backend
  readonly traces?: OpenOptions['traces']
  /** `unset`: the app is opened without the option. Default: a log that the test can read. */
  readonly log?: 'read' | 'unset' | false
}

const turnsMax = 200

export async function openScene<const Opened extends App>(
  app: Opened,
  { seed = 1, wrap = (backend) => backend, log = 'read', traces }: SceneOptions = {},
): Promise<WorkerScene<Opened>> {
  const folder = await temporaryFolder('worker')
  const ports = virtualPorts(seed)
  const { clock } = ports
  const store = await openSqlite({ file: folder.file('millrace.db'), ports })
  const backend = wrap(store)
  const lines: LogLine[] = []
  const given = log === 'unset' ? {} : { log: log && collectingLogger(lines) }
  const traced = traces === undefined ? {} : { traces }
  const mill = await open(app, { backend, ports, ...given, ...traced })
  onTestFinished(async () => {
    await withTime(clock, mill.close())
    await store.close()
    await folder.remove()
  })
  return {
    mill,
    backend,
    clock,
    ports,
    lines,
    settle: () => clock.advance(0),
    async until(what, holds) {
      for (let turn = 0; turn < turnsMax; turn += 1) {
        if (await holds()) return
        await clock.advance(0)
      }
      throw new Error(`This did not happen: ${what}.`)
    },
    messages: () => lines.map(({ message }) => message),
  }
}

export function collectingLogger(into: LogLine[]): Logger {
  const level =
    (name: keyof Logger) =>
    (fields: LogFields, message: string): void =>
      void into.push({ level: name, message, fields })
  return { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') }
}

/** Keeps what this process prints to stderr until the test ends. */
export function printed(): () => string {
  const write = vi.spyOn(process.stderr, 'write').mockImplementation(() => true)
  onTestFinished(() => write.mockRestore())
  return () => write.mock.calls.map(([text]) => String(text)).join('')
}

/** Moves the clock one second at a time until a promise has settled. */
export async function withTime<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false
  const settled = promise.finally(() => {
    isSettled = true
  })
  settled.catch(() => undefined)
  for (let step = 0; step < 3_600; step += 1) {
    await clock.advance(0)
    if (isSettled) return settled
    await clock.advance(1_000)
  }
  throw new Error('The promise did not settle within an hour.')
}

/** A promise with its `resolve` and `reject`, for handlers that end when the test decides. */
export interface Gate<T = void> {
  readonly opened: Promise<T>
  open(value: T): void
  fail(error: unknown): void
}

export function gate<T = void>(): Gate<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  promise.catch(() => undefined)
  return { opened: promise, open: resolve, fail: reject }
}

/** Waits until a handler's signal is aborted, and resolves to the reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    const tell = (): void => resolve(signal.reason)
    if (signal.aborted) tell()
    else signal.addEventListener('abort', tell, { once: true })
  })
}

/** Starts a worker that has been made. */
export function started(worker: Worker): Worker {
  worker.start()
  return worker
}
