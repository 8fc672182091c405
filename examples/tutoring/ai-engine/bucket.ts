/** Objects by their keys. A folder stands for the bucket, and a key never leads out of it. */
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
      if (path.startsWith('..') || path.startsWith(sep)) throw new Error('The key is not one.')
      const object = await readFile(join(folder, path)).catch(() => undefined)
      if (object === undefined) throw new Error('There is no object of this key.')
      if (object.length > bytesMax) throw new Error('The object is too large.')
      return object
    },
  }
}
