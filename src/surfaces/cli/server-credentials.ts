/** Who may ask a server that a command starts: credentials from the environment, and their help. */
import type { Command } from 'commander'
import type { ServeOptions } from '../../server.ts'
import type { ServerModule } from './platform.ts'

export type ServerCredentials = Pick<ServeOptions, 'auth' | 'accessKeys'>

export function addCredentialsHelp(command: Command): Command {
  return command.addHelpText('after', help)
}

const help = `
Credentials come from the environment:
  MILLRACE_ACCESS_KEYS     id:secret or id:secret:account, comma separated; who may sign SQS requests
  MILLRACE_API_KEYS        name:role:key, comma separated; roles admin, internal, operator,
                           user and metrics
  MILLRACE_JWT_SECRET      shared secret of bearer tokens; or MILLRACE_JWT_PUBLIC_KEY (PEM),
                           or MILLRACE_JWT_JWKS_URL
  MILLRACE_JWT_ISSUER      what tokens must name as issuer
  MILLRACE_JWT_AUDIENCE    what tokens must name as audience`

/** Empty where the environment has none. */
export function serverCredentials(
  { authFromEnvironment, credentialsFromEnvironment }: ServerModule,
  environment: Readonly<Record<string, string | undefined>>,
): ServerCredentials {
  const auth = authFromEnvironment(environment)
  const accessKeys = credentialsFromEnvironment(environment)
  return { ...(auth !== undefined && { auth }), ...(accessKeys !== undefined && { accessKeys }) }
}

/** The key that is printed for users of the server; never its secret. */
export function shownKey({ accessKeys = [] }: ServerCredentials): {
  readonly accessKeyId?: string
} {
  const [key] = accessKeys
  return key === undefined ? {} : { accessKeyId: key.accessKeyId }
}
