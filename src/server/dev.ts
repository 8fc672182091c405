/**
 * Runs the resources of templates in this process: the server, the queues, and the functions that consume
 * them. Changed templates and handlers are reloaded.
 */
import type { RequestListener } from 'node:http'
import { MillraceError } from '../core/millrace-error.ts'
import { defaultHome } from '../sqs/queue-address.ts'
import type { SourcePlan } from '../stacks/bring-up.ts'
import type { StackSourceOptions } from '../stacks/stack-source.ts'
import type { TemplateProblem } from '../templates/stack.ts'
import type { LambdaLogLine } from '../worker/lambda/invocation-log.ts'
import type { InvocationReport } from '../worker/lambda/invocation-report.ts'
import type { RequestReport } from './function-api.ts'
import {
  type RunningServer,
  type ServerOptions,
  type ServerServices,
  type ServerSetup,
  serveWith,
} from './serve.ts'

export type { InvocationReport, LambdaLogLine, RequestReport }

export interface DevOptions
  extends Pick<ServerOptions, 'host' | 'port' | 'store' | 'data' | 'log' | 'ports'>,
    Pick<StackSourceOptions, 'stage' | 'parameters' | 'options'> {
  /** Templates, or modules that export an app. Default: only the server. */
  readonly templates?: readonly string[]
  /** Region of the queues and functions. Default: us-east-1. */
  readonly region?: string
  /** Twelve digits. Default: 000000000000. */
  readonly account?: string
  /** Whether names are blocked for 60 seconds after deletions and purges. Default: true, as on AWS. */
  readonly cooldowns?: boolean
  /**
   * Port for the HTTP routes of functions. 0 chooses a free port. Default: 3000, the usual port of local
   * API gateways, or a free one if `port` is 0.
   */
  readonly apiPort?: number
  /** Variables for templates; functions get only a few of them. Default: the environment of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Called each time the stacks were applied, including the first time. */
  readonly onUp?: (plans: readonly SourcePlan[]) => void
  /** Called with the problems of the templates. If one is an error, nothing was changed. */
  readonly onProblems?: (problems: readonly TemplateProblem[]) => void
  /** Called with each log line of a function. Default: lines go to `log`. */
  readonly onLogLine?: (line: LambdaLogLine) => void
  /** Called when an invocation has ended and its messages are settled. Default: reports go to `log`. */
  readonly onInvocation?: (report: InvocationReport) => void
  /** Called when an HTTP request to a function has its response. Default: requests go to `log`. */
  readonly onRequest?: (report: RequestReport) => void
}

export interface DevSetup extends DevOptions, Pick<ServerSetup, 'hasCredentials'> {
  /** Credentials with which functions sign their requests. Default: those of the environment. */
  readonly credentials?: FunctionCredentials
}

/** The same fields as an access key of the server. */
export interface FunctionCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

export interface RunningDev extends RunningServer {
  /** The last applied plans. */
  readonly plans: readonly SourcePlan[]
  /** The URL of the HTTP routes of functions; null if there are none. */
  readonly apiUrl: string | null
  /** Reads the templates again, as after a change. Resolves with whether they were applied. */
  reload(): Promise<boolean>
}

/** Rejects if a template has errors, after calling `onProblems`. */
export async function startDevWith(
  surfaces: (services: ServerServices) => RequestListener,
  setup: DevSetup = {},
): Promise<RunningDev> {
  // Starts the slow import first.
  const loading = import('./dev-stacks.ts')
  let services: ServerServices | undefined
  const server = await serveWith((given) => {
    services = given
    return surfaces(given)
  }, setup)
  if (services === undefined) throw new MillraceError('store_closed')
  const { DevStacks } = await loading
  const { region = defaultHome.region, account = defaultHome.account } = setup
  const place = { region, account, environment: setup.environment ?? process.env }
  const stacks = new DevStacks({ options: setup, place, server, services })
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopped ??= stacks.stop().then(() => server.stop())
    return stopped
  }
  try {
    await stacks.start()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    ...server,
    get plans() {
      return stacks.plans
    },
    get apiUrl() {
      return stacks.apiUrl
    },
    reload: () => stacks.reload(),
    stop,
  }
}
