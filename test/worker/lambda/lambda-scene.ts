/** Functions on a real store and in real threads, with a clock that the test moves. */
import { writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { BroadcastChannel } from 'node:worker_threads'
import { onTestFinished } from 'vitest'
import type { Backend, NewMessage, QueueSettings } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { Scene } from '../../../src/testing/backend-contract/scene.ts'
import { type VirtualPorts, virtualPorts } from '../../../src/testing/virtual-clock.ts'
import type { LambdaLogLine } from '../../../src/worker/lambda/invocation-log.ts'
import type { InvocationReport } from '../../../src/worker/lambda/invocation-report.ts'
import {
  LambdaRuntime,
  type LambdaRuntimeOptions,
} from '../../../src/worker/lambda/lambda-runtime.ts'
import type {
  LambdaEventSource,
  LambdaFunction,
  LambdaSet,
} from '../../../src/worker/lambda/lambda-set.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { collectingLogger, type LogLine, withTime } from '../../support/worker-scene.ts'
import type { Order, Told } from './handlers/puppet.ts'

export const handlers: string = fileURLToPath(new URL('./handlers', import.meta.url))

/** An event source as it is when nothing is said about it. */
export const plainSource: LambdaEventSource = {
  queue: 'work',
  function: 'puppet',
  batchSize: 10,
  batchingWindowMs: 0,
  maximumConcurrency: null,
  reportsBatchItemFailures: false,
  filters: [],
  enabled: true,
}

/** Real time: threads have to start, on a machine that may be busy. */
const patienceMs = 120_000

export interface LambdaSceneOptions extends Partial<Omit<LambdaRuntimeOptions, 'onLogLine'>> {
  /** The lines go to the logger of the runtime, as they do unless somebody asks for them. */
  readonly isSilent?: boolean
  /** Puts something between the runtime and its store. */
  readonly wrap?: (backend: Backend) => Backend
}

export class LambdaScene {
  readonly ports: VirtualPorts = virtualPorts()
  readonly reports: InvocationReport[] = []
  readonly lines: LambdaLogLine[] = []
  readonly log: LogLine[] = []
  /** What puppets told of their invocations, in the order in which these began. */
  readonly told: Told[] = []
  readonly store: Scene
  readonly runtime: LambdaRuntime
  /** A folder for the code of functions that a test writes. */
  readonly folder: string
  readonly #channel: BroadcastChannel

  constructor(backend: Backend, folder: string, options: LambdaSceneOptions, ports: VirtualPorts) {
    this.ports = ports
    this.folder = folder
    const { clock } = ports
    const advance = (ms: number): Promise<void> => clock.advance(ms)
    this.store = new Scene({ backend, advance, dispose: async () => undefined })
    this.#channel = new BroadcastChannel(folder)
    this.#channel.onmessage = (message) => {
      // Nobody but puppets writes to it.
      const { data } = message as { readonly data: Told | Order }
      if (data.to === 'test') this.told.push(data)
    }
    const { wrap = (one: Backend) => one, isSilent = false, ...rest } = options
    this.runtime = new LambdaRuntime({
      backend: wrap(backend),
      ports,
      region: 'eu-west-1',
      account: '123456789012',
      log: collectingLogger(this.log),
      ...(!isSilent && { onLogLine: (line: LambdaLogLine) => void this.lines.push(line) }),
      onInvocation: (report) => void this.reports.push(report),
      hostEnvironment: { PATH: '/bin' },
      ...rest,
    })
  }

  /** A function whose handler does what the test says, unless it has another one. */
  function(changes: Partial<LambdaFunction> = {}): LambdaFunction {
    return {
      name: 'puppet',
      handler: 'puppet.handler',
      folder: handlers,
      runtime: 'nodejs24.x',
      timeoutMs: 10_000,
      memoryMb: 128,
      reservedConcurrency: null,
      ...changes,
      environment: { PUPPET_CHANNEL: this.folder, ...changes.environment },
    }
  }

  source(changes: Partial<LambdaEventSource> = {}): LambdaEventSource {
    return { ...plainSource, ...changes }
  }

  set(functions: Partial<LambdaFunction>, source: Partial<LambdaEventSource> = {}): LambdaSet {
    const one = this.function(functions)
    return { functions: [one], eventSources: [this.source({ function: one.name, ...source })] }
  }

  /** Loads a set and starts it. The queues must be there. */
  async run(set: LambdaSet): Promise<void> {
    this.runtime.load(set)
    await this.runtime.start()
  }

  /** Runs one message through a function. */
  async once(changes: Partial<LambdaFunction> = {}): Promise<InvocationReport> {
    await this.queue()
    await this.send('one')
    await this.run(this.set(changes))
    return this.ended()
  }

  /** The same for a puppet, which the test may have do something. */
  async oncePuppet(order: Pick<Order, 'answer' | 'error' | 'write'> = {}): Promise<Told> {
    await this.queue()
    await this.send('one')
    await this.run(this.set({}))
    const told = await this.began()
    this.order(told, order)
    await this.ended()
    return told
  }

  /** Writes a file of a function; the answer is a function in that folder. */
  async code(name: string, text: string): Promise<Pick<LambdaFunction, 'folder'>> {
    await writeFile(`${this.folder}/${name}`, text)
    return { folder: this.folder }
  }

  queue(settings: Partial<QueueSettings> = {}, name = 'work'): Promise<unknown> {
    return this.store.queue(name, settings)
  }

  send(...messages: readonly (string | NewMessage)[]): Promise<string[]> {
    return this.store.send('work', ...messages)
  }

  order(
    told: Pick<Told, 'requestId'>,
    order: Pick<Order, 'answer' | 'error' | 'write'> = {},
  ): void {
    this.#channel.postMessage({ to: 'handler', requestId: told.requestId, ...order })
  }

  /** The puppet's invocation with this number, from 0, once it has begun. */
  async began(index = 0): Promise<Told> {
    return this.seen(`invocation ${index} begins`, () => this.told[index])
  }

  async ended(index = 0): Promise<InvocationReport> {
    return this.seen(`invocation ${index} ends`, () => this.reports[index])
  }

  /** Waits for something that needs no time of the clock to pass. */
  async seen<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T> {
    const startedMs = performance.now()
    while (performance.now() - startedMs < patienceMs) {
      await this.ports.clock.advance(0)
      const found = await look()
      if (found !== undefined) return found
      await pause(2)
    }
    const reasons = this.lines.filter(({ kind }) => kind === 'error').map(({ text }) => text)
    throw new Error(`It did not come to this: ${what}. ${reasons.join('\n')}`)
  }

  async until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    await this.seen(what, async () => ((await holds()) ? true : undefined))
  }

  /** How many batches have been handed to their function, those that have ended included. */
  begun(): number {
    const running = this.runtime.sources.reduce((sum, source) => sum + source.running, 0)
    return running + this.reports.length
  }

  /** The texts of the log's lines of these kinds. */
  texts(...kinds: readonly LambdaLogLine['kind'][]): string[] {
    return this.lines.filter(({ kind }) => kinds.includes(kind)).map(({ text }) => text)
  }

  close(): void {
    this.#channel.close()
  }
}

export async function openLambdaScene(options: LambdaSceneOptions = {}): Promise<LambdaScene> {
  const folder = await temporaryFolder('lambda')
  const ports = virtualPorts()
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  const scene = new LambdaScene(backend, folder.path, options, ports)
  onTestFinished(async () => {
    scene.close()
    await withTime(ports.clock, scene.runtime.stop())
    await backend.close()
    await folder.remove()
  })
  return scene
}

export function bodies({ event }: Told): string[] {
  return event.Records.map(({ body }) => body)
}
