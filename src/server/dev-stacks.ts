/**
 * The stacks of a running dev server. Each time the templates are read, their queues are created or updated,
 * and the functions that consume them are run.
 */
import { dirname, relative, resolve } from 'node:path'
import { chosenStore } from '../app/chosen-store.ts'
import type { Store } from '../backends/store.ts'
import { describeMissingFile } from '../core/handler-extensions.ts'
import { isRefused, MillraceError } from '../core/millrace-error.ts'
import type { Logger } from '../observability/logger.ts'
import { bringUp, planUp, readSources, type SourcePlan } from '../stacks/bring-up.ts'
import type { StackSource, StackSourceOptions } from '../stacks/stack-source.ts'
import type { Stack, StackFunction, StackRoute, TemplateProblem } from '../templates/stack.ts'
import { CodeWatcher } from '../worker/lambda/code-watcher.ts'
import { findModule, isHandlerName, parseHandlerName } from '../worker/lambda/handler-file.ts'
import { LambdaRuntime } from '../worker/lambda/lambda-runtime.ts'
import { isNodeRuntime, type LambdaSet } from '../worker/lambda/lambda-set.ts'
import type { DevSetup } from './dev.ts'
import { FunctionApi, type RequestReport } from './function-api.ts'
import type { RunningServer, ServerServices } from './serve.ts'

/** The usual port of local API gateways. */
const apiPortDefault = 3_000

interface DevSet extends LambdaSet {
  readonly routes: readonly StackRoute[]
}

export interface DevStacksSetup {
  readonly options: DevSetup
  /** Region, account and environment of queues and functions. */
  readonly place: Pick<StackSourceOptions, 'region' | 'account' | 'environment'>
  readonly server: RunningServer
  readonly services: ServerServices
}

export class DevStacks {
  readonly #setup: DevStacksSetup
  readonly #runtime: LambdaRuntime
  readonly #watcher: CodeWatcher
  readonly #api: FunctionApi
  #plans: readonly SourcePlan[] = []
  #readings = 0
  #reloads: Promise<unknown> = Promise.resolve()
  #stopped: Promise<void> | undefined

  constructor(setup: DevStacksSetup) {
    this.#setup = setup
    const { services, place, server, options } = setup
    const { store: backend, ports } = services
    const { log, stage, apiPort, onLogLine, onInvocation, onRequest } = options
    this.#runtime = new LambdaRuntime({
      backend,
      ports,
      region: place.region,
      account: place.account,
      endpoint: server.url,
      ...storeOfFunctions(server, chosenStore(options, place.environment)),
      ...(stage !== undefined && { stage }),
      hostEnvironment: { ...place.environment, ...signingVariables(options) },
      ...(log !== undefined && { log }),
      ...(onLogLine !== undefined && { onLogLine }),
      ...(onInvocation !== undefined && { onInvocation, logsInvocations: false }),
    })
    this.#api = new FunctionApi({
      host: server.host,
      port: apiPort ?? (options.port === 0 ? 0 : apiPortDefault),
      account: place.account,
      ports,
      invoke: (name, event, signal) => this.#runtime.invoke(name, event, signal),
      onRequest: onRequest ?? ((report) => logRequest(log, report)),
    })
    this.#watcher = new CodeWatcher({
      timers: ports.timers,
      onChange: () => void this.reload(),
    })
  }

  /** The last applied plans. */
  get plans(): readonly SourcePlan[] {
    return this.#plans
  }

  get apiUrl(): string | null {
    return this.#api.url
  }

  async start(): Promise<void> {
    const set = await this.#bringUp()
    if (set === undefined) {
      const message = 'The templates have errors. Nothing was changed.'
      throw new MillraceError('invalid_contract', { message })
    }
    this.#runtime.load(set)
    await this.#runtime.start()
    await this.#serve(set.routes)
  }

  /** Reloads one after the other. If a template has errors, the running functions continue. */
  reload(): Promise<boolean> {
    const reloaded = this.#reloads.then(() => this.#reload())
    this.#reloads = reloaded
    return reloaded
  }

  stop(): Promise<void> {
    this.#watcher.close()
    this.#stopped ??= this.#reloads.then(() => this.#api.stop()).then(() => this.#runtime.stop())
    return this.#stopped
  }

  /** A port that is taken does not stop the queues. */
  async #serve(routes: readonly StackRoute[]): Promise<void> {
    try {
      await this.#api.setRoutes(routes)
    } catch (error) {
      const [route] = routes
      if (!isRefused(error, 'address_unavailable') || route === undefined) throw error
      const message = `HTTP requests are not served. ${error.message} Choose another port with --api-port.`
      this.#tell([{ ...problem(message, route.at), severity: 'warning' }])
    }
  }

  async #reload(): Promise<boolean> {
    if (this.#stopped !== undefined) return false
    try {
      const set = await this.#bringUp()
      if (set === undefined) return false
      await this.#runtime.reload(set)
      await this.#serve(set.routes)
      return true
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error
      const [file = ''] = this.#setup.options.templates ?? []
      this.#tell([problem(error.message, { file, line: 1, column: 1 })])
      return false
    }
  }

  /**
   * Resolves with the functions to run, after their queues exist; with undefined if a template has errors.
   */
  async #bringUp(): Promise<DevSet | undefined> {
    const { services, options } = this.#setup
    const sources = await this.#read()
    const planned = await planUp({ backend: services.store, sources })
    const stacks = planned.plans.map(({ stack }) => stack)
    this.#tell([...planned.problems, ...stacks.flatMap(functionsNotRun)])
    if (planned.hasErrors) return undefined
    await services.refreshSwitches(stacks.flatMap(({ queues }) => queues))
    services.setContracts(sources.flatMap(({ contracts = [] }) => contracts))
    await bringUp(services.store, planned)
    this.#plans = planned.plans
    options.onUp?.(planned.plans)
    return devSetOf(stacks)
  }

  async #read(): Promise<readonly StackSource[]> {
    const { options, place, server } = this.#setup
    const { templates = [], stage, parameters, options: given } = options
    const sources = await readSources(
      templates,
      {
        ...place,
        endpoint: server.url,
        ...(stage !== undefined && { stage }),
        ...(parameters !== undefined && { parameters }),
        ...(given !== undefined && { options: given }),
      },
      this.#readings,
    )
    this.#readings += 1
    this.#watcher.add(sources.flatMap(({ files }) => files.map((file) => resolve(file))))
    return sources
  }

  #tell(problems: readonly TemplateProblem[]): void {
    if (problems.length > 0) this.#setup.options.onProblems?.(problems)
  }
}

/** Functions run in threads, and open the store themselves. A store that is not named by a text is out of reach. */
function storeOfFunctions(
  { data }: RunningServer,
  chosen: Store | string,
): { readonly store: string } | undefined {
  if (data !== null) return { store: data }
  return typeof chosen === 'string' ? { store: chosen } : undefined
}

/** All three variables, because the session token of another key would not match. */
function signingVariables({ credentials }: DevSetup): Record<string, string | undefined> {
  if (credentials === undefined) return {}
  return {
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_SESSION_TOKEN: credentials.sessionToken,
  }
}

/** Functions in other languages are left out. Messages in their queues wait. */
function devSetOf(stacks: readonly Stack[]): DevSet {
  const functions = stacks
    .flatMap((stack) => stack.functions)
    .filter(({ runtime }) => isNodeRuntime(runtime))
  const names = new Set(functions.map(({ name }) => name))
  const eventSources = stacks
    .flatMap((stack) => stack.eventSources)
    .filter((source) => names.has(source.function))
  const routes = stacks
    .flatMap((stack) => stack.routes)
    .filter((route) => names.has(route.function))
  return { functions, eventSources, routes, served: routes.map((route) => route.function) }
}

function logRequest(log: Logger | undefined, report: RequestReport): void {
  const { method, path, function: name, status, durationMs } = report
  log?.info({ method, path, function: name, status, duration_ms: durationMs }, 'function request')
}

/** Warnings about functions that a queue or route invokes and that cannot run. */
function functionsNotRun({ functions, eventSources, routes }: Stack): readonly TemplateProblem[] {
  const invoked = new Set([...eventSources, ...routes].map((source) => source.function))
  return functions
    .filter(({ name }) => invoked.has(name))
    .flatMap((one) => {
      const reason = whyNotRun(one)
      return reason === undefined ? [] : [{ ...problem(reason, one.at), severity: 'warning' }]
    })
}

/** The file may be built later: then the function runs. */
function whyNotRun({ name, runtime, handler, folder, at }: StackFunction): string | undefined {
  if (!isNodeRuntime(runtime)) {
    return `${name} is not run: its runtime is ${runtime}, and only Node.js functions are run here.`
  }
  if (!isHandlerName(handler)) return undefined
  const { module } = parseHandlerName(handler)
  if (findModule(folder, module) !== undefined) return undefined
  const folders = [relative(dirname(at.file), folder)]
  return `${name} cannot run: ${describeMissingFile({ handler, module, folders })}.`
}

function problem(message: string, at: TemplateProblem['at']): TemplateProblem {
  return { severity: 'error', path: '', message, at }
}
