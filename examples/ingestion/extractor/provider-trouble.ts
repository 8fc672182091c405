/** Derives from an error what is wrong with the provider. */
import Anthropic from '@anthropic-ai/sdk'

export interface ProviderTrouble {
  /** `blocked`: nothing works until a person has repaired the account. */
  readonly kind: 'busy' | 'failing' | 'blocked'
  /** The HTTP status, or `connection`. Safe to log. */
  readonly code: string
  /** The wait that the provider asked for. */
  readonly retryAfterMs: number | null
  /**
   * Whether the unit may be the cause. A busy provider has nothing to do with the unit. An internal error may be
   * caused by it, so a unit is not retried forever.
   */
  readonly mayBeUnit: boolean
}

const blocked: ReadonlySet<number> = new Set([401, 402, 403])
const busy: ReadonlySet<number> = new Set([408, 429, 503, 504, 529])

/** Undefined if the error is about the request, or not from the provider. */
export function providerTrouble(error: unknown): ProviderTrouble | undefined {
  if (error instanceof Anthropic.APIUserAbortError) return undefined
  if (error instanceof Anthropic.APIConnectionError) {
    return { kind: 'busy', code: 'connection', retryAfterMs: null, mayBeUnit: false }
  }
  if (!(error instanceof Anthropic.APIError) || error.status === undefined) return undefined
  const { status } = error
  const kind = kindOf(status, error.type)
  if (kind === undefined) return undefined
  return {
    kind,
    code: String(status),
    retryAfterMs: retryAfterMs(error.headers),
    mayBeUnit: kind === 'failing',
  }
}

function kindOf(status: number, type: string | null): ProviderTrouble['kind'] | undefined {
  if (blocked.has(status)) return 'blocked'
  if (busy.has(status) || type === 'overloaded_error') return 'busy'
  return status >= 500 ? 'failing' : undefined
}

/** In seconds. A date is ignored. */
function retryAfterMs(headers: Headers | undefined): number | null {
  const seconds = Number(headers?.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : null
}
