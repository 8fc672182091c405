/**
 * Starts a server: the embedded store in its data directory, the app that is to be served from it,
 * the upkeep of that store, and one listener for all ways in. The ways in are handed over by the
 * caller, so that this file knows the store and they do not.
 */
import type { RequestListener } from 'node:http'
import { prepareDataDirectory } from '../app/data-directory.ts'
import type { ObeyingQueue } from '../app/held-names.ts'
import { alarmTold, noticesTo, warnOf } from '../app/notice.ts'
import type { Mill } from '../app/open.ts'
import { openRelay } from '../app/open-relay.ts'
import type { Backend } from '../backends/backend.ts'
import type { QueueContract } from '../contracts/contract-of.ts'
import type { App } from '../contracts/define-app.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { pause } from '../core/pause.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import { Agent, type AgentFailure, type SliceEnd } from '../maintenance/agent.ts'
import { Sampler } from '../maintenance/sampler.ts'
import { Sweeper } from '../maintenance/sweeper.ts'
import type { Logger } from '../observability/logger.ts'
import { type Alarms, createAlarms } from '../operations/alarms.ts'
import { createInbox, type Inbox } from '../operations/inbox.ts'
import { createMetricReader, type MetricReader } from '../operations/metrics.ts'
import { limitHeapGrowth } from '../worker/heap-growth.ts'
import type { ConnectionLimits } from './connection-limits.ts'
import { HeldReceives } from './held-receives.ts'
import { listen } from './listen.ts'
import { isLoopback } from './loopback.ts'
import { WireContracts } from './wire-contracts.ts'

export interface ServerOptions {
  /** A loopback address; any other only with credentials. Default: 127.0.0.1. */
  readonly host?: string
  /** 0 takes any free port. Default: 4566, where clients of SQS emulators look already. */
  readonly port?: number
  /** Where the store lives; created when missing. Default: `.millrace`. */
  readonly dataDirectory?: string
  /** The app whose jobs are served. Default none: health checks only. */
  readonly app?: App
  /** Part of the names of the app's queues. Default: as `open` has it. */
  readonly stage?: string
  /** Told of what happens to jobs and of each request. Default: nobody. */
  readonly log?: Logger
  /** What one client may cost: connections, headers, times. */
  readonly connections?: Partial<ConnectionLimits>
  /** Time, chance and identity. Default: those of the machine. */
  readonly ports?: Ports
}

export interface ServerSetup extends ServerOptions {
  /**
   * Whether callers have to prove who they are to some way in; the others stay closed to other
   * machines. Without it nobody else may reach the server.
   */
  readonly hasCredentials?: boolean
  /** Where kill switches may be on. Default: that of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** What the ways in may ask of a running server. */
export interface Services {
  /** Answers when the store can be used; rejects with the reason when it cannot. */
  ready(): Promise<void>
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal
  /** The app that is served, if one is. */
  readonly mill: Mill | null
  /**
   * For ways in that speak of queues as they are, whoever declared them. Receives are held by the
   * kill switches that the environment has on. Messages of declared queues are checked against
   * their contracts.
   */
  readonly store: Backend
  /** Says which queues an app declares, in place of those that were known. */
  setContracts(queues: readonly QueueContract[]): void
  /** A queue of the store as people work in it, whoever declared it. */
  inbox(queue: string): Inbox
  /** How the queues of the store fare, whoever declared them. */
  readonly metrics: MetricReader
  /** All alarms of the store, whoever declared them. */
  readonly alarms: Alarms
  /** Looks which of those are obeyed, once queues have changed or before they go up. */
  lookAtSwitches(goingUp?: readonly ObeyingQueue[]): Promise<void>
  /** Whether other machines can reach the server. */
  readonly isPublic: boolean
  readonly ports: Ports
}

export interface RunningServer {
  readonly host: string
  readonly port: number
  readonly url: string
  /** Absolute. */
  readonly dataDirectory: string
  /** Resolves with the reason when the files of the store were replaced, and nothing can be served. */
  readonly lost: Promise<MillraceError>
  /** Finishes the requests at hand and lets go of the store. Further calls share one promise. */
  stop(): Promise<void>
}

export const serveDefaults: Readonly<
  Required<Pick<ServerOptions, 'host' | 'port' | 'dataDirectory'>>
> = {
  host: '127.0.0.1',
  port: 4566,
  dataDirectory: '.millrace',
}

/** HTTP clients do not wait for as long as a program that opened the store itself. */
const busyTimeoutMs = 10_000

export async function serveWith(
  waysIn: (services: Services) => RequestListener,
  setup: ServerSetup = {},
): Promise<RunningServer> {
  const { host, port, dataDirectory } = { ...serveDefaults, ...setup }
  const { ports = systemPorts, hasCredentials = false, environment = process.env } = setup
  const { log } = setup
  const onNotice = noticesTo(log)
  const onChange = alarmTold({ log })
  if (!hasCredentials) refusePublicAddress(host)
  if (ports === systemPorts) limitHeapGrowth('server', ports.timers)

  const data = await prepareDataDirectory(dataDirectory)
  const { openSqlite } = await import('../backends/sqlite/index.ts')
  const backend = await openSqlite({
    file: data.file,
    ports,
    busyTimeoutMs,
    onClockChange: (change) => onNotice({ kind: 'clock', ...change }),
  })
  const letGo: (() => Promise<void>)[] = [() => backend.close()]
  const stopping = new AbortController()
  const stop = async (): Promise<void> => {
    stopping.abort()
    for (const part of letGo) await part()
  }
  try {
    const { mill, close } = await keepUp({ backend, ports, ...setup })
    letGo.unshift(close)
    const { keepAlarms } = await import('./store-alarms.ts')
    const stopAlarms = await keepAlarms({ backend, ports, onChange, onNotice })
    letGo.unshift(stopAlarms)
    const held = new HeldReceives({
      backend,
      environment,
      ...(setup.log !== undefined && { log: setup.log }),
    })
    await held.look()
    const contracts = new WireContracts({
      backend: held.store,
      clock: ports.clock,
      onRefused: (refused) => onNotice({ kind: 'delivery_refused', ...refused }),
    })
    contracts.set(contractsOf(mill, setup.app))
    const ready = (): Promise<void> => checkedSoon(backend, ports)
    const services: Services = {
      ready,
      stopping: stopping.signal,
      mill,
      store: contracts.store,
      setContracts: (queues) => contracts.set(queues),
      inbox: (name) => createInbox({ backend: held.store, name }),
      metrics: mill?.metrics ?? createMetricReader({ backend, clock: ports.clock }),
      alarms: createAlarms({ backend, onChange }),
      lookAtSwitches: (goingUp) => held.look(goingUp),
      isPublic: !isLoopback(host),
      ports,
    }
    const listener = await listen({
      host,
      port,
      answer: waysIn(services),
      timers: ports.timers,
      ...(setup.connections !== undefined && { limits: setup.connections }),
    })
    letGo.unshift(() => listener.close())
    const { promise: lost, resolve: onLoss } = Promise.withResolvers<MillraceError>()
    const watch = watchLoss(backend, ports, onLoss)
    watch.start()
    letGo.unshift(() => watch.stop())
    let stopped: Promise<void> | undefined
    return {
      host: listener.host,
      port: listener.port,
      url: listener.url,
      dataDirectory: data.path,
      lost,
      stop() {
        stopped ??= stop()
        return stopped
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Twice before a second is over. */
const lookEveryMs = 400

/** Any read of the store finds out, and an idle server has to know as well. */
function watchLoss(
  backend: Backend,
  { timers }: Ports,
  onLoss: (error: MillraceError) => void,
): Agent {
  const slice = async (): Promise<SliceEnd> => {
    await backend.listQueues({ limit: 1 })
    return {}
  }
  const onFailure = ({ error }: AgentFailure): void => {
    if (error instanceof MillraceError && error.code === 'store_replaced') onLoss(error)
  }
  return new Agent({ timers, intervalMs: lookEveryMs, slice, onFailure })
}

/** A supervisor wants an answer, also while another process holds the store. */
const readyWithinMs = 2_000

async function checkedSoon(backend: Backend, { timers }: Ports): Promise<void> {
  const answered = new AbortController()
  const tooLate = pause(timers, readyWithinMs, answered.signal).then(() => {
    if (!answered.signal.aborted) throw new MillraceError('store_busy')
  })
  try {
    await Promise.race([backend.check(), tooLate])
  } finally {
    answered.abort()
  }
}

interface KeptStore {
  readonly mill: Mill | null
  close(): Promise<void>
}

interface KeepSetup extends Pick<ServerOptions, 'app' | 'stage' | 'log'> {
  readonly backend: Backend
  readonly ports: Ports
}

/** An open app brings the upkeep of its store; without one the server sees to it. */
async function keepUp({ backend, ports, app, stage, log }: KeepSetup): Promise<KeptStore> {
  if (app !== undefined) {
    const { open } = await import('../app/open.ts')
    const given = { ...(stage !== undefined && { stage }), ...(log !== undefined && { log }) }
    const mill = await open(app, { backend, ports, ...given })
    return { mill, close: () => mill.close() }
  }
  const sweeper = new Sweeper({
    backend,
    timers: ports.timers,
    onFailure: (failure) => warnOf({ kind: 'sweep_failed', ...failure }),
  })
  sweeper.start()
  const sampler = samplerOf(backend, ports)
  sampler?.start()
  const relay = openRelay({ backend, ports, onNotice: noticesTo(log) })
  relay?.start()
  const close = async (): Promise<void> => {
    await Promise.all([relay?.stop(), sampler?.stop(), sweeper.stop()])
  }
  return { mill: null, close }
}

function contractsOf(mill: Mill | null, app: App | undefined): readonly QueueContract[] {
  return Object.entries(app?.queues ?? {}).map(([key, declared]) => ({
    name: mill?.queues[key]?.name ?? key,
    declared,
  }))
}

function samplerOf({ metrics }: Backend, { timers }: Ports): Sampler | undefined {
  if (metrics === null) return undefined
  return new Sampler({
    metrics,
    timers,
    onFailure: ({ error, retryInMs }) =>
      warnOf({ kind: 'agent_failed', agent: 'sampler', error, retryInMs }),
  })
}

function refusePublicAddress(host: string): void {
  if (isLoopback(host)) return
  throw new MillraceError('address_unavailable', {
    message:
      `Refusing to listen on ${host}: without credentials the server is for this machine only. ` +
      'Use 127.0.0.1, ::1 or localhost, or give it access keys for SQS, API keys or tokens for ' +
      'the HTTP API, or both.',
  })
}
