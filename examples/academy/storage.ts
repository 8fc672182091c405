/** The academy's files: a folder in place of a bucket, with the same keys. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface Storage {
  /** Where a file with this key is, or would be. */
  path(key: string): string
  read(key: string): Promise<Buffer>
  write(key: string, content: Buffer | string): Promise<void>
}

/** Such as `videos/tenant-1/video-123.mp4`: no key leads out of the folder. */
export const fileKey: RegExp = /^(?:[\w-][\w.-]*\/)+[\w-][\w.-]*$/

export function openStorage(folder: string): Storage {
  const path = (key: string): string => {
    if (!fileKey.test(key)) throw new Error('A file key is made of names with / between them.')
    return join(folder, key)
  }
  return {
    path,
    read: (key) => readFile(path(key)),
    async write(key, content) {
      await mkdir(dirname(path(key)), { recursive: true })
      await writeFile(path(key), content)
    },
  }
}
