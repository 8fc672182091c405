/** Authenticates callers by API key or bearer token. */
import type { MiddlewareHandler } from 'hono'
import { MillraceError } from '../../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../../core/options.ts'
import type { Clock } from '../../core/ports.ts'
import type { ApiEnv } from './api-env.ts'
import { type ApiKey, apiKeyCallers } from './api-keys.ts'
import { ApiProblem } from './api-problem.ts'
import { type Caller, hasOnePurpose } from './caller.ts'
import { type JwtAuth, tokenVerifier } from './json-web-tokens.ts'

export interface ApiAuth {
  readonly apiKeys?: readonly ApiKey[]
  readonly jwt?: JwtAuth
}

const everybody: Caller = {
  role: 'admin',
  name: 'anonymous',
  signature: 'anonymous',
  identity: 'anonymous',
  owner: null,
  expiresAt: null,
}

/** Longer values are rejected without a check, to save time. */
const credentialsLengthMax = 8_192

/** @param may which authenticated callers may pass; default: all roles except those for one purpose */
export function authenticate(
  auth: ApiAuth | 'none',
  clock: Pick<Clock, 'now'>,
  may: (caller: Caller) => boolean = (caller) => !hasOnePurpose(caller),
): MiddlewareHandler<ApiEnv> {
  const callerOf = auth === 'none' ? async () => everybody : credentialsCheck(auth, clock)
  return async (c, next) => {
    const caller = await callerOf(c.req.raw.headers)
    c.set('caller', caller)
    if (!may(caller)) throw new ApiProblem('forbidden')
    await next()
  }
}

const authOptions: OptionNames<ApiAuth> = { apiKeys: true, jwt: true }

type CredentialsCheck = (headers: Headers) => Promise<Caller>

function credentialsCheck(auth: ApiAuth, clock: Pick<Clock, 'now'>): CredentialsCheck {
  refuseUnknownOptions(auth, authOptions, 'auth.')
  const { apiKeys = [], jwt } = auth
  if (apiKeys.length === 0 && jwt === undefined) {
    const allowed = "API keys, a JWT setting, or 'none' to trust every caller"
    throw MillraceError.invalid([{ field: 'auth', given: 'no credentials', allowed }])
  }
  const byKey = apiKeyCallers(apiKeys)
  const byToken = jwt === undefined ? undefined : tokenVerifier(jwt, clock)
  return async (headers) => {
    const credentials = credentialsIn(headers)
    if (credentials === undefined) throw unauthenticated()
    const { text, mayBeToken } = credentials
    const isToken = mayBeToken && byToken !== undefined && looksLikeToken(text)
    const caller = isToken ? await byToken(text) : byKey(text)
    if (caller === undefined) throw unauthenticated('invalid_token')
    return caller
  }
}

interface Credentials {
  readonly text: string
  readonly mayBeToken: boolean
}

/** X-API-Key comes first, because Authorization may be meant for a proxy. */
function credentialsIn(headers: Headers): Credentials | undefined {
  const key = headers.get('x-api-key')
  const [, bearer] = /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '') ?? []
  const text = key ?? bearer
  if (text === undefined || text.length > credentialsLengthMax) return undefined
  return { text, mayBeToken: key === null }
}

function looksLikeToken(text: string): boolean {
  return text.split('.').length === 3
}

function unauthenticated(error?: string): ApiProblem {
  const challenge = 'Bearer realm="millrace"'
  const headers = {
    'www-authenticate': error === undefined ? challenge : `${challenge}, error="${error}"`,
  }
  return new ApiProblem('unauthenticated', { headers })
}

/** For routes that concern the whole system. */
export const adminsOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  if (c.get('caller').role !== 'admin') throw new ApiProblem('forbidden')
  await next()
}
