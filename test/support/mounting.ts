/** Mounts file systems for tests that fill a disk or cut its power. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'

/** Only root may mount. */
export const canMount = process.platform === 'linux' && process.getuid?.() === 0

/** Mounts a file system while the callback runs. */
export async function withMounted<T>(
  mountArguments: readonly string[],
  place: string,
  run: (place: string) => Promise<T>,
): Promise<T> {
  mkdirSync(place, { recursive: true })
  execFileSync('mount', [...mountArguments, place])
  try {
    return await run(place)
  } finally {
    // Lazily, because a process that was just killed may still have open files.
    execFileSync('umount', ['--lazy', place])
  }
}
