/** The scope of a credential: `key/20260131/eu-central-1/sqs/aws4_request`. */
import { targetOf } from '../request-target.ts'
import { headerValue, queryParameters, type RequestHead } from './canonical-request.ts'

export interface CredentialScope {
  readonly accessKeyId: string
  /** Year, month and day. */
  readonly date: string
  readonly region: string
  readonly service: string
  readonly terminator: string
}

/** Returns undefined unless there are exactly five parts. */
export function parseCredential(credential: string): CredentialScope | undefined {
  const parts = credential.split('/')
  const [accessKeyId = '', date = '', region = '', service = '', terminator = ''] = parts
  return parts.length === 5 ? { accessKeyId, date, region, service, terminator } : undefined
}

/** Accepts regions of AWS and of emulators. The region becomes a part of ARNs and URLs. */
export function isRegion(text: string): boolean {
  return /^[a-z0-9-]{1,40}$/.test(text)
}

/**
 * The key and region that a request names, for servers that trust it. Returns undefined if it names none, or
 * in an unknown form.
 */
export function scopeOf({ url, rawHeaders }: RequestHead): CredentialScope | undefined {
  const scope = parseCredential(credentialIn(rawHeaders) ?? credentialInQuery(url) ?? '')
  return scope !== undefined && scope.accessKeyId !== '' && isRegion(scope.region)
    ? scope
    : undefined
}

function credentialIn(rawHeaders: readonly string[]): string | undefined {
  const authorization = headerValue(rawHeaders, 'authorization')
  const [, credential] = /^AWS4-\S+\s.*?\bCredential=([^,\s]+)/.exec(authorization ?? '') ?? []
  return credential
}

function credentialInQuery(url: string): string | undefined {
  if (!url.includes('X-Amz-Credential')) return undefined
  const { query } = targetOf(url)
  const found = queryParameters(query).find(({ name }) => name === 'X-Amz-Credential')
  return found?.value.replaceAll('%2F', '/')
}
