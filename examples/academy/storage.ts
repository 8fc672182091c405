/** The academy's files: a folder instead of a bucket, with the same keys. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface Storage {
  /** The path of the file with this key. */
  path(key: string): string
  read(key: string): Promise<Buffer>
  write(key: string, content: Buffer | string): Promise<void>
}

/** Such as `videos/tenant-1/video-123.mp4`. No key can point outside the folder. */
export const fileKey: RegExp = /^(?:[\w-][\w.-]*\/)+[\w-][\w.-]*$/

export function openStorage(folder: string): Storage {
  const path = (key: string): string => {
    if (!fileKey.test(key)) throw new Error('A file key must consist of names separated by /.')
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
