/** From an error of a call to what it says about the provider, by its codes. */
import Anthropic from '@anthropic-ai/sdk'

export interface ProviderTrouble {
  /** `blocked`: nothing will work before somebody has repaired the account. */
  readonly kind: 'busy' | 'failing' | 'blocked'
  /** The status, or `connection`. Safe to log. */
  readonly code: string
  /** How long the provider asked to be left alone. */
  readonly retryAfterMs: number | null
  /**
   * Whether the unit may be at fault as well. A provider that is busy says nothing about the unit; one
   * that fails inside may fail because of it, and a unit must not be tried for ever.
   */
  readonly mayBeUnit: boolean
}

const blocked: ReadonlySet<number> = new Set([401, 402, 403])
const busy: ReadonlySet<number> = new Set([408, 429, 503, 504, 529])

/** Undefined for an error that is about the request, or none of the provider's at all. */
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

/** In seconds; a date is not worth the trouble. */
function retryAfterMs(headers: Headers | undefined): number | null {
  const seconds = Number(headers?.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : null
}
