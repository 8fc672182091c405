/** Puts encryption on a store that was opened, after checking that the keys are those of the store. */

import type { Backend } from '../backends/backend.ts'
import type { Sealing } from '../backends/store.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { supported } from '../core/supported.ts'
import { Cipher, type CipherKey, type CipherKeys, keyCheck } from './cipher.ts'
import { sealedBackend } from './sealed-backend.ts'

/** How a store is opened with keys. */
export function sealingWith(keys: CipherKeys): Sealing {
  const cipher = new Cipher(keys)
  return {
    keyIds: keys.map(({ id }) => id),
    open: (text) => cipher.open(text),
    wrap: async (backend) => {
      await requireKeys(backend, keys)
      return sealedBackend(backend, cipher)
    },
  }
}

/** Closes the store and throws `encryption_key_wrong` if a key is not the one that the store knows. */
async function requireKeys(backend: Backend, keys: CipherKeys): Promise<void> {
  try {
    await recordKeys(backend, keys)
  } catch (error) {
    await backend.close()
    throw error
  }
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
