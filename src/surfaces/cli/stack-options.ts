/** The options for reading templates, which `up`, `dev`, `doctor` and `template` share. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { serverDefaults } from '../../core/server-defaults.ts'
import { defaultHome } from '../../sqs/queue-address.ts'
import type { StackSourceOptions } from '../../stacks/stack-source.ts'
import { type Pairs, pair } from './option-values.ts'
import type { Shell } from './shell.ts'

export interface PlaceFlags {
  readonly region?: string
  readonly account?: string
}

export interface StackFlags extends PlaceFlags {
  readonly stage?: string
  readonly param?: Pairs
  readonly opt?: Pairs
}

export function addStackOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--stage <name>', 'stage of the serverless.yml or app').env('MILLRACE_STAGE'),
    )
    .option('--param <name=value>', 'parameter of the template (repeatable)', pair)
    .option(
      '--opt <name=value>',
      'option for serverless.yml, read there as opt:name (repeatable)',
      pair,
    )
}

/** Region and account of queues whose name has no region and account in front. */
export function addPlaceOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--region <name>', 'region of the queues (default: AWS_REGION, or us-east-1)')
        .env('MILLRACE_REGION')
        .argParser(matching(/^[a-z0-9-]{1,40}$/, 'a region, such as eu-central-1')),
    )
    .addOption(
      new Option('--account <digits>', `account of the queues (default: ${defaultHome.account})`)
        .env('MILLRACE_ACCOUNT')
        .argParser(matching(/^\d{12}$/, 'twelve digits')),
    )
}

function matching(pattern: RegExp, allowed: string): (text: string) => string | undefined {
  return (text) => {
    if (text === '') return undefined
    if (pattern.test(text)) return text
    throw new InvalidArgumentError(`Use ${allowed}.`)
  }
}

export interface NamedPlace {
  readonly region: string
  readonly account: string
}

/** AWS_REGION is the default, because AWS clients in the same shell use that region. */
export function placeOf(
  { region, account }: PlaceFlags,
  { environment }: Pick<Shell, 'environment'>,
): NamedPlace {
  const { AWS_REGION: aws, AWS_DEFAULT_REGION: awsDefault } = environment
  return {
    region: region ?? (aws || awsDefault || defaultHome.region),
    account: account ?? defaultHome.account,
  }
}

export function sourceOptions(flags: StackFlags, shell: Shell): StackSourceOptions {
  const { stage, param, opt } = flags
  const { host, port } = serverDefaults
  return {
    ...placeOf(flags, shell),
    environment: shell.environment,
    endpoint: `http://${host}:${port}`,
    ...(stage && { stage }),
    ...(param !== undefined && { parameters: param }),
    ...(opt !== undefined && { options: opt }),
  }
}
