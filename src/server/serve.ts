/**
 * Starts a server: opens the store and the served app, starts maintenance, and opens one listener for all
 * surfaces. The caller passes the surfaces in, so they do not depend on how a store is opened, and this file
 * does not depend on them.
 */
import type { RequestListener } from 'node:http'
import { checkReady } from '../app/check-ready.ts'
import { chosenStore } from '../app/chosen-store.ts'
import { startStoreMaintenance } from '../app/maintenance.ts'
import { alarmListener, noticesTo } from '../app/notice.ts'
import { type Mill, open } from '../app/open.ts'
import { openBackend } from '../app/open-backend.ts'
import { lostAttemptListener } from '../app/report-events.ts'
import type { Backend } from '../backends/backend.ts'
import type { Store } from '../backends/store.ts'
import type { QueueContract } from '../contracts/contract-of.ts'
import type { App } from '../contracts/define-app.ts'
import type { ObeyingQueue } from '../contracts/held-names.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import { serverDefaults } from '../core/server-defaults.ts'
import { Service, type ServiceFailure, type SliceEnd } from '../maintenance/service.ts'
import { type Logger, silentLogger } from '../observability/logger.ts'
import { createAlarms } from '../operations/alarms/alarms.ts'
import { createBudgets } from '../operations/budgets.ts'
import { createInbox } from '../operations/inbox.ts'
import { createMetricReader } from '../operations/metrics/metrics.ts'
import { isLoopback } from '../surfaces/local-request.ts'
import type { Services } from '../surfaces/services.ts'
import { limitHeapGrowth } from '../worker/heap-growth.ts'
import { createJobReports } from '../worker/job-reports.ts'
import type { ConnectionOptions } from './connection-limits.ts'
import { HeldReceives } from './held-receives.ts'
import { listen } from './listen.ts'
import { WireContracts } from './wire-contracts.ts'

export interface ServerOptions {
  /** Address to listen on. Addresses other than loopback require credentials. Default: 127.0.0.1. */
  readonly host?: string
  /** 0 chooses a free port. Default: 4566, the usual port of SQS emulators. */
  readonly port?: number
  /** A store, the URL of a Postgres database, or a directory. Default: MILLRACE_STORE, else `data`. */
  readonly store?: Store | string
  /** Directory of the embedded store; created if missing. Default: MILLRACE_DATA, or `.millrace`. */
  readonly data?: string
  /** The app to serve. Default: none. */
  readonly app?: App
  /** Part of the names of the app's queues. Default: the same as for `open`. */
  readonly stage?: string
  /** Logs each transition of a job and each request. Default: no log. */
  readonly log?: Logger
  /** Limits for clients: connections, headers, timeouts. */
  readonly connections?: ConnectionOptions
  /** Clock, timers, random numbers and ids. Default: those of the system. */
  readonly ports?: Ports
}

export interface ServerSetup extends ServerOptions {
  /**
   * Whether a surface requires credentials. Surfaces without credentials stay closed to other machines. If
   * false, the server only listens on loopback.
   */
  readonly hasCredentials?: boolean
  /** Environment variables with kill switches. Default: the environment of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** Additional services for `dev`. */
export interface ServerServices extends Services {
  /** Replaces the contracts for messages. */
  setContracts(queues: readonly QueueContract[]): void
  /** Reads the kill switches of the environment again, also for queues that are about to be created. */
  refreshSwitches(goingUp?: readonly ObeyingQueue[]): Promise<void>
}

export interface RunningServer {
  readonly host: string
  readonly port: number
  readonly url: string
  /** The data directory, an absolute path; null if the store is in a database. */
  readonly data: string | null
  /** Names the store for people, without secrets. */
  readonly place: string
  /** Resolves with the error if the files of the store were replaced, and the server cannot continue. */
  readonly lost: Promise<MillraceError>
  /** Finishes current requests and closes the store. Further calls return the same promise. */
  stop(): Promise<void>
}

/** Shorter than the default, because HTTP clients have timeouts. */
const busyTimeoutMs = 10_000

export async function serveWith(
  surfaces: (services: ServerServices) => RequestListener,
  setup: ServerSetup = {},
): Promise<RunningServer> {
  const { host, port } = { ...serverDefaults, ...setup }
  const { ports = systemPorts, hasCredentials = false, environment = process.env, log } = setup
  const onNotice = noticesTo(log)
  const onChange = alarmListener({ log })
  if (!hasCredentials) refusePublicAddress(host)
  if (ports === systemPorts) limitHeapGrowth('server', ports.timers)

  let keyOf = (_name: string): string | undefined => undefined
  const onAttemptLost = lostAttemptListener({
    log: log ?? silentLogger,
    printsFailures: log === undefined,
    keyOf: (name) => keyOf(name),
    // A server has no workers.
    isHeld: () => false,
  })
  const { backend, directory, place } = await openBackend({
    store: chosenStore(setup, environment),
    create: true,
    ports,
    busyTimeoutMs,
    onClockChange: (change) => onNotice({ kind: 'clock', ...change }),
    ...(onAttemptLost && { onAttemptLost }),
  })
  const closing: (() => Promise<void>)[] = [() => backend.close()]
  const stopping = new AbortController()
  const stop = async (): Promise<void> => {
    stopping.abort()
    for (const close of closing) await close()
  }
  try {
    const mill = await openServedApp(backend, setup)
    // An open app already maintains its store.
    const maintenance = mill ?? startStoreMaintenance({ backend, ports, onNotice })
    closing.unshift(() => maintenance.close())
    const { watchStoreAlarms } = await import('./store-alarms.ts')
    const alarmWatch = await watchStoreAlarms({ backend, ports, onChange, onNotice })
    closing.unshift(async () => alarmWatch?.stop())
    const held = new HeldReceives({ backend, environment, ...(log !== undefined && { log }) })
    await held.refresh()
    const contracts = new WireContracts({
      backend: held.store,
      clock: ports.clock,
      onRefused: (refused) => onNotice({ kind: 'delivery_refused', ...refused }),
    })
    contracts.set(contractsOf(mill, setup.app))
    keyOf = (name) => contracts.find(name)?.key
    const ready = (): Promise<void> => checkReady(backend, ports)
    const services: ServerServices = {
      ready,
      stopping: stopping.signal,
      mill,
      store: contracts.store,
      setContracts: (queues) => contracts.set(queues),
      reports:
        mill?.reports ?? createJobReports({ backend, ports, find: (name) => contracts.find(name) }),
      inbox: (name) => createInbox({ backend: held.store, name }),
      metrics: mill?.metrics ?? createMetricReader({ backend, clock: ports.clock }),
      alarms: createAlarms({ backend, onChange }),
      budgets: createBudgets({ backend }),
      refreshSwitches: (goingUp) => held.refresh(goingUp),
      isPublic: !isLoopback(host),
      ports,
    }
    const listener = await listen({
      host,
      port,
      answer: surfaces(services),
      timers: ports.timers,
      ...(setup.connections !== undefined && { limits: setup.connections }),
    })
    closing.unshift(() => listener.close())
    const { promise: lost, resolve: onLoss } = Promise.withResolvers<MillraceError>()
    if (directory !== null) {
      const watch = watchLoss(backend, ports, onLoss)
      watch.start()
      closing.unshift(() => watch.stop())
    }
    let stopped: Promise<void> | undefined
    return {
      host: listener.host,
      port: listener.port,
      url: listener.url,
      data: directory?.path ?? null,
      place,
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

/** Checks at least twice per second. */
const checkEveryMs = 400

/** Reads the store regularly, so that an idle server notices too. */
function watchLoss(
  backend: Backend,
  { timers }: Ports,
  onLoss: (error: MillraceError) => void,
): Service {
  const slice = async (): Promise<SliceEnd> => {
    await backend.listQueues({ limit: 1 })
    return {}
  }
  const onFailure = ({ error }: ServiceFailure): void => {
    if (error instanceof MillraceError && error.code === 'store_replaced') onLoss(error)
  }
  return new Service({ timers, intervalMs: checkEveryMs, slice, onFailure })
}

async function openServedApp(
  backend: Backend,
  { app, stage, log, ports = systemPorts }: ServerSetup,
): Promise<Mill | null> {
  if (app === undefined) return null
  const given = { ...(stage !== undefined && { stage }), ...(log !== undefined && { log }) }
  return open(app, { backend, ports, ...given })
}

function contractsOf(mill: Mill | null, app: App | undefined): readonly QueueContract[] {
  if (app === undefined) return []
  return Object.entries(app.queues).map(([key, declared]) => ({
    key,
    name: mill?.queues[key]?.name ?? key,
    declared,
    app,
  }))
}

function refusePublicAddress(host: string): void {
  if (isLoopback(host)) return
  throw new MillraceError('address_unavailable', {
    message:
      `Cannot listen on ${host}: without credentials, the server only accepts loopback addresses. ` +
      'Use 127.0.0.1, ::1 or localhost, or set credentials: access keys for SQS, and API keys or a ' +
      'JWT setting for the HTTP API.',
  })
}
