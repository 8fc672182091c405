/** Puts encryption on a store that was opened, after checking that the keys are those of the store. */
import { MillraceError } from '../../core/millrace-error.ts'
import { supported } from '../../core/supported.ts'
import type { Backend } from '../backend.ts'
import { Cipher, type CipherKey, keyCheck } from './cipher.ts'
import { sealedBackend } from './sealed-backend.ts'

/** The first key seals. The others only open texts that they have sealed. */
export type CipherKeys = readonly [CipherKey, ...CipherKey[]]

/** Closes the store and throws `encryption_key_wrong` if a key is not the one that the store knows. */
export async function sealWith(backend: Backend, keys: CipherKeys): Promise<Backend> {
  try {
    await recordKeys(backend, keys)
  } catch (error) {
    await backend.close()
    throw error
  }
  return sealedBackend(backend, new Cipher(keys))
}

async function recordKeys(backend: Backend, keys: CipherKeys): Promise<void> {
  const store = supported(backend.keys)
  const known = new Map((await store.list()).map((key) => [key.id, key.check]))
  const requireSame = (key: CipherKey, check: string | undefined): void => {
    if (check === undefined || check === keyCheck(key)) return
    throw new MillraceError('encryption_key_wrong', {
      message: `The key '${key.id}' is not the one that the store is sealed with.`,
    })
  }
  for (const key of keys) requireSame(key, known.get(key.id))
  const [sealing] = keys
  if (known.has(sealing.id)) return
  const added = await store.add({ id: sealing.id, check: keyCheck(sealing) })
  requireSame(sealing, added.check)
}
