/**
 * AWS SQS as a carrier: checks what was given, and loads the AWS SDK when the carrier is opened, so that a
 * program can name it without having the package.
 */
import { checkOneOf, checkRange, describeGiven, type Violations } from '../../../core/checks.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../../../core/options.ts'
import type { CarrierChoice } from '../carrier.ts'
import { type AnySqsClient, isSqsClient, type SqsClientSettings } from './any-client.ts'
import { sqsCapabilities } from './capabilities.ts'

export interface SqsCarrierOptions {
  /** An `SQSClient`, which stays open, or the settings of a new one. Default: those of the SDK. */
  readonly client?: AnySqsClient | SqsClientSettings
  /** Begins the name of each queue at SQS, as in `shop-` for `shop-orders`. Default: none. */
  readonly namePrefix?: string
  /** Whether missing queues are created. Those that exist are never changed. Default: `create`. */
  readonly queues?: 'create' | 'use'
  readonly pollers?: SqsPollers
}

export interface SqsPollers {
  /** Calls at the same time to receive from one queue, while it has many messages. Default: 8. */
  readonly max?: number
}

const optionNames: OptionNames<SqsCarrierOptions> = {
  client: true,
  namePrefix: true,
  queues: true,
  pollers: true,
}

const clientNames: OptionNames<SqsClientSettings> = {
  region: true,
  endpoint: true,
  credentials: true,
  maxAttempts: true,
}

const pollersRange = { min: 1, max: 50, unit: 'calls at once' }

/** For `carriers` of an app. Queues are placed on it with `on: 'sqs'`. */
export function sqs(options: SqsCarrierOptions = {}): CarrierChoice {
  refuseUnknownOptions(options, optionNames)
  const { client = {}, namePrefix = '', queues = 'create', pollers = {} } = options
  if (!isClient(client)) refuseUnknownOptions(client, clientNames, 'client.')
  refuseUnknownOptions(pollers, { max: true }, 'pollers.')
  const { max: pollsMax = 8 } = pollers
  const violations: Violations = []
  checkOneOf(violations, 'queues', queues, ['create', 'use'])
  checkRange(violations, 'pollers.max', pollsMax, pollersRange)
  checkPrefix(violations, namePrefix)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return {
    name: sqsCapabilities.name,
    place: placeOf(client),
    capabilities: sqsCapabilities,
    async open(opening) {
      const { sdk, openSqs } = await loaded()
      const mayCreate = queues === 'create'
      return openSqs({ ...opening, sdk, client, namePrefix, mayCreate, pollsMax })
    },
  }
}

async function loaded(): Promise<
  { readonly sdk: typeof import('@aws-sdk/client-sqs') } & typeof import('./index.ts')
> {
  // Looked for first, so that no other failure is taken for a missing package.
  const sdk = await import('@aws-sdk/client-sqs').catch((cause: unknown) => {
    const message =
      'The carrier SQS needs the package @aws-sdk/client-sqs, which cannot be loaded. Install it: npm install @aws-sdk/client-sqs'
    throw new MillraceError('carrier_unusable', { message, cause })
  })
  return { sdk, ...(await import('./index.ts')) }
}

/** Also for programs without types. */
function isClient(given: AnySqsClient | SqsClientSettings): given is AnySqsClient {
  return typeof given === 'object' && given !== null && isSqsClient(given)
}

function checkPrefix(into: Violations, prefix: unknown): void {
  if (typeof prefix === 'string' && /^[\w-]{0,60}$/.test(prefix)) return
  const allowed = 'at most 60 letters, digits, _ and -'
  into.push({ field: 'namePrefix', given: describeGiven(prefix), allowed })
}

function placeOf(client: AnySqsClient | SqsClientSettings): string {
  if (isClient(client)) return 'AWS SQS'
  const { region, endpoint } = client
  const host = endpoint === undefined ? undefined : URL.parse(endpoint)?.host
  if (host !== undefined) return `SQS at ${host}`
  return region === undefined ? 'AWS SQS' : `AWS SQS in ${region}`
}
