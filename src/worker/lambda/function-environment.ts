/**
 * The environment variables of a function: its own, and those that Lambda sets. From the host it gets only
 * what programs need to run, so that secrets of the shell do not leak into handlers. AWS credentials are
 * passed on, because functions have some on AWS too.
 */
import type { QueuePlace } from '../../sqs/queue-address.ts'
import type { LambdaFunction } from './lambda-set.ts'
import type { ContextFacts } from './thread-protocol.ts'

export type Variables = Readonly<Record<string, string>>

export interface FunctionPlace extends QueuePlace {
  /** The URL of the SQS endpoint. Absent if functions use AWS itself. */
  readonly endpoint?: string | undefined
  /** The folder or the URL of the store, for functions that use it. Absent if they cannot reach one. */
  readonly store?: string | undefined
  /** The stage of the apps. Absent if each app decides. */
  readonly stage?: string | undefined
  /** The environment of the process that runs the functions. */
  readonly host: Readonly<Record<string, string | undefined>>
}

const fromHost: readonly string[] = [
  'PATH',
  'HOME',
  'TMPDIR',
  'TEMP',
  'TMP',
  'SystemRoot',
  'LANG',
  'NODE_OPTIONS',
]
const credentials: readonly string[] = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
]
const credentialsWithoutAny: Variables = {
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
}

export function functionEnvironment(
  { name, handler, folder, runtime, memoryMb, environment }: LambdaFunction,
  { region, endpoint, store, stage, host }: FunctionPlace,
  { logGroupName, logStreamName }: ContextFacts,
): Variables {
  const own = pick(host, credentials)
  return {
    ...pick(host, fromHost),
    ...(own['AWS_ACCESS_KEY_ID'] === undefined ? credentialsWithoutAny : own),
    ...(endpoint !== undefined && { AWS_ENDPOINT_URL_SQS: endpoint }),
    ...(store !== undefined && { [storeVariable(store)]: store }),
    ...(stage !== undefined && { MILLRACE_STAGE: stage }),
    TZ: ':UTC',
    ...environment,
    // A function cannot override these, as on AWS.
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_EXECUTION_ENV: `AWS_Lambda_${runtime ?? 'nodejs'}`,
    AWS_LAMBDA_FUNCTION_NAME: name,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_LAMBDA_LOG_GROUP_NAME: logGroupName,
    AWS_LAMBDA_LOG_STREAM_NAME: logStreamName,
    LAMBDA_TASK_ROOT: folder,
    _HANDLER: handler,
  }
}

function storeVariable(store: string): string {
  return store.includes('://') ? 'MILLRACE_STORE' : 'MILLRACE_DATA'
}

function pick(
  host: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Variables {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = host[name]
      return value === undefined ? [] : [[name, value] as const]
    }),
  )
}
