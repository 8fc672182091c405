/** Credentials of a server that a command starts, from the environment, and their help text. */
import type { Command } from 'commander'
import type { ServeOptions } from '../../server.ts'
import type { ServerModule } from './platform.ts'

export type ServerCredentials = Pick<ServeOptions, 'auth' | 'accessKeys'>

export function addCredentialsHelp(command: Command): Command {
  return command.addHelpText('after', help)
}

const help = `
Credentials come from the environment:
  MILLRACE_ACCESS_KEYS     id:secret or id:secret:account, comma separated; keys that may sign SQS requests
  MILLRACE_API_KEYS        name:role:key, comma separated; roles: admin, internal, operator,
                           user and metrics
  MILLRACE_JWT_SECRET      shared secret of bearer tokens; alternatives: MILLRACE_JWT_PUBLIC_KEY (PEM)
                           and MILLRACE_JWT_JWKS_URL
  MILLRACE_JWT_ISSUER      required issuer of tokens
  MILLRACE_JWT_AUDIENCE    required audience of tokens`

/** Returns an empty object if the environment has none. */
export function serverCredentials(
  { authFromEnvironment, credentialsFromEnvironment }: ServerModule,
  environment: Readonly<Record<string, string | undefined>>,
): ServerCredentials {
  const auth = authFromEnvironment(environment)
  const accessKeys = credentialsFromEnvironment(environment)
  return { ...(auth !== undefined && { auth }), ...(accessKeys !== undefined && { accessKeys }) }
}

/** The id of the key that is printed at start; never its secret. */
export function shownKey({ accessKeys = [] }: ServerCredentials): {
  readonly accessKeyId?: string
} {
  const [key] = accessKeys
  return key === undefined ? {} : { accessKeyId: key.accessKeyId }
}
