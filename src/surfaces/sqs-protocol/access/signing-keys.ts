/** A cache of signing keys, each derived from a secret for one day, region and service. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { CredentialScope } from './credential-scope.ts'

/** Enough for many callers, with keys of several regions for today and yesterday. */
const keysMax = 1_000

export class SigningKeys {
  readonly #service: string
  readonly #known = new Map<string, KeyObject>()

  constructor(service: string) {
    this.#service = service
  }

  keyFor(scope: CredentialScope, secretAccessKey: string): KeyObject {
    const known = this.#known.get(nameOf(scope))
    if (known !== undefined) return known
    const ofDay = hmac(`AWS4${secretAccessKey}`, scope.date)
    const key = hmac(hmac(hmac(ofDay, scope.region), this.#service), 'aws4_request')
    // From bytes, Node would prepare the key for each signature, which takes longer than everything else.
    return createSecretKey(key)
  }

  keep(scope: CredentialScope, key: KeyObject): void {
    const name = nameOf(scope)
    if (this.#known.has(name)) return
    const [oldest] = this.#known.keys()
    if (this.#known.size >= keysMax && oldest !== undefined) this.#known.delete(oldest)
    this.#known.set(name, key)
  }
}

function nameOf({ accessKeyId, date, region }: CredentialScope): string {
  return `${accessKeyId}/${date}/${region}`
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
