/**
 * Starts a server: opens the store in its data directory and the app that is served from it, starts maintenance,
 * and opens one listener for all surfaces. The caller hands the surfaces over, so that they do not know how a
 * store is opened, and this file does not know them.
 */
import type { RequestListener } from 'node:http'
import { checkReady } from '../app/check-ready.ts'
import type { ObeyingQueue } from '../app/held-names.ts'
import { startStoreMaintenance } from '../app/maintenance.ts'
import { alarmListener, noticesTo } from '../app/notice.ts'
import { type Mill, open } from '../app/open.ts'
import { openBackend } from '../app/open-backend.ts'
import type { Backend } from '../backends/backend.ts'
import type { QueueContract } from '../contracts/contract-of.ts'
import type { App } from '../contracts/define-app.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import { serverDefaults } from '../core/server-defaults.ts'
import { Service, type ServiceFailure, type SliceEnd } from '../maintenance/service.ts'
import type { Logger } from '../observability/logger.ts'
import { createAlarms } from '../operations/alarms/alarms.ts'
import { createInbox } from '../operations/inbox.ts'
import { createMetricReader } from '../operations/metrics/metrics.ts'
import { isLoopback } from '../surfaces/local-request.ts'
import type { Services } from '../surfaces/services.ts'
import { limitHeapGrowth } from '../worker/heap-growth.ts'
import type { ConnectionOptions } from './connection-limits.ts'
import { HeldReceives } from './held-receives.ts'
import { listen } from './listen.ts'
import { WireContracts } from './wire-contracts.ts'

export interface ServerOptions {
  /** A loopback address; any other only with credentials. Default: 127.0.0.1. */
  readonly host?: string
  /** 0 takes any free port. Default: 4566, where clients of SQS emulators look already. */
  readonly port?: number
  /** Where the store lives; created when missing. Default: `.millrace`. */
  readonly data?: string
  /** The app whose jobs are served. Default none: health checks only. */
  readonly app?: App
  /** Part of the names of the app's queues. Default: as `open` has it. */
  readonly stage?: string
  /** Gets a line for each transition of a job and each request. Default: none. */
  readonly log?: Logger
  /** What one client may cost: connections, headers, times. */
  readonly connections?: ConnectionOptions
  /** Time, chance and identity. Default: those of the machine. */
  readonly ports?: Ports
}

export interface ServerSetup extends ServerOptions {
  /**
   * Whether some surface asks callers for credentials; the other surfaces stay closed to other
   * machines. Without it only this machine may reach the server.
   */
  readonly hasCredentials?: boolean
  /** Where kill switches may be on. Default: that of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** What `dev` needs beside what surfaces need. */
export interface ServerServices extends Services {
  /** Replaces the contracts by which messages are checked. */
  setContracts(queues: readonly QueueContract[]): void
  /** Looks for kill switches of the environment that queues obey, also queues that are about to go up. */
  refreshSwitches(goingUp?: readonly ObeyingQueue[]): Promise<void>
}

export interface RunningServer {
  readonly host: string
  readonly port: number
  readonly url: string
  /** The data directory, absolute. */
  readonly data: string
  /** Resolves with the reason when the files of the store were replaced, and nothing can be served. */
  readonly lost: Promise<MillraceError>
  /** Finishes the requests at hand and lets go of the store. Further calls share one promise. */
  stop(): Promise<void>
}

/** HTTP clients do not wait for as long as a program that opened the store itself. */
const busyTimeoutMs = 10_000

export async function serveWith(
  surfaces: (services: ServerServices) => RequestListener,
  setup: ServerSetup = {},
): Promise<RunningServer> {
  const { host, port, data } = { ...serverDefaults, ...setup }
  const { ports = systemPorts, hasCredentials = false, environment = process.env, log } = setup
  const onNotice = noticesTo(log)
  const onChange = alarmListener({ log })
  if (!hasCredentials) refusePublicAddress(host)
  if (ports === systemPorts) limitHeapGrowth('server', ports.timers)

  const { backend, directory } = await openBackend({
    data,
    create: true,
    ports,
    busyTimeoutMs,
    onClockChange: (change) => onNotice({ kind: 'clock', ...change }),
  })
  const closing: (() => Promise<void>)[] = [() => backend.close()]
  const stopping = new AbortController()
  const stop = async (): Promise<void> => {
    stopping.abort()
    for (const close of closing) await close()
  }
  try {
    const mill = await openServedApp(backend, setup)
    // An open app brings the maintenance of its store.
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
    const ready = (): Promise<void> => checkReady(backend, ports)
    const services: ServerServices = {
      ready,
      stopping: stopping.signal,
      mill,
      store: contracts.store,
      setContracts: (queues) => contracts.set(queues),
      inbox: (name) => createInbox({ backend: held.store, name }),
      metrics: mill?.metrics ?? createMetricReader({ backend, clock: ports.clock }),
      alarms: createAlarms({ backend, onChange }),
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
    const watch = watchLoss(backend, ports, onLoss)
    watch.start()
    closing.unshift(() => watch.stop())
    let stopped: Promise<void> | undefined
    return {
      host: listener.host,
      port: listener.port,
      url: listener.url,
      data: directory.path,
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
): Service {
  const slice = async (): Promise<SliceEnd> => {
    await backend.listQueues({ limit: 1 })
    return {}
  }
  const onFailure = ({ error }: ServiceFailure): void => {
    if (error instanceof MillraceError && error.code === 'store_replaced') onLoss(error)
  }
  return new Service({ timers, intervalMs: lookEveryMs, slice, onFailure })
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
  return Object.entries(app?.queues ?? {}).map(([key, declared]) => ({
    name: mill?.queues[key]?.name ?? key,
    declared,
  }))
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
