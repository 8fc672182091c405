/**
 * Everything that templates declare, running in this process: the server on its store, the queues, and
 * the functions that queues feed. Changed templates and handlers are taken over while it runs.
 */
import type { RequestListener } from 'node:http'
import { MillraceError } from '../core/millrace-error.ts'
import { defaultHome } from '../sqs/queue-address.ts'
import type { SourcePlan } from '../stacks/bring-up.ts'
import type { StackSourceOptions } from '../stacks/stack-source.ts'
import type { TemplateProblem } from '../templates/stack.ts'
import type { LambdaLogLine } from '../worker/lambda/invocation-log.ts'
import type { InvocationReport } from '../worker/lambda/invocation-report.ts'
import {
  type RunningServer,
  type ServerOptions,
  type ServerServices,
  type ServerSetup,
  serveWith,
} from './serve.ts'

export type { InvocationReport, LambdaLogLine }

export interface DevOptions
  extends Pick<ServerOptions, 'host' | 'port' | 'data' | 'log' | 'ports'>,
    Pick<StackSourceOptions, 'stage' | 'parameters' | 'options'> {
  /** Templates, or modules that export an app. Default: the server alone. */
  readonly templates?: readonly string[]
  /** Where the queues and functions are said to be. Default: us-east-1. */
  readonly region?: string
  /** Twelve digits. Default: 000000000000. */
  readonly account?: string
  /** Whether names are blocked for a time after deletions and purges. Default: true, as on AWS. */
  readonly cooldowns?: boolean
  /** What templates may refer to, and of which functions get a small part. Default: that of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Called whenever the stacks have gone up, the first time included. */
  readonly onUp?: (plans: readonly SourcePlan[]) => void
  /** Called with what is wrong with the templates. An error among them: nothing was changed. */
  readonly onProblems?: (problems: readonly TemplateProblem[]) => void
  /** The lines of the functions' logs. Default: they go to `log`. */
  readonly onLogLine?: (line: LambdaLogLine) => void
  /** Called when an invocation has ended and its messages are settled. Default: it goes to `log`. */
  readonly onInvocation?: (report: InvocationReport) => void
}

export interface DevSetup extends DevOptions, Pick<ServerSetup, 'hasCredentials'> {
  /** What functions sign their requests with. Default: what the environment has. */
  readonly credentials?: FunctionCredentials
}

/** As an access key of the server has them. */
export interface FunctionCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

export interface RunningDev extends RunningServer {
  /** What has gone up last. */
  readonly plans: readonly SourcePlan[]
  /** Reads the templates again, as their changes do; resolves with whether they went up. */
  reload(): Promise<boolean>
}

/** Rejects when a template cannot go up; `onProblems` was called with the reason. */
export async function startDevWith(
  surfaces: (services: ServerServices) => RequestListener,
  setup: DevSetup = {},
): Promise<RunningDev> {
  // What takes long to load is asked for before anything else.
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
    reload: () => stacks.reload(),
    stop,
  }
}
