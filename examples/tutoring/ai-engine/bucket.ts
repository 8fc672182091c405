/** A folder instead of a bucket. No key can point outside the folder. */
import { readFile } from 'node:fs/promises'
import { join, normalize, sep } from 'node:path'

const bytesMax = 20 * 2 ** 20

export interface Bucket {
  read(key: string): Promise<Buffer>
}

export function bucketIn(folder: string): Bucket {
  return {
    async read(key) {
      const path = normalize(key)
      if (path.startsWith('..') || path.startsWith(sep))
        throw new Error('The object key is not valid.')
      const object = await readFile(join(folder, path)).catch(() => undefined)
      if (object === undefined) throw new Error('The object does not exist.')
      if (object.length > bytesMax) throw new Error('The object is too large.')
      return object
    },
  }
}
