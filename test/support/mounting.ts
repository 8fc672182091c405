/** File systems of a test's own, to fill up or to cut the power of. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'

/** Only root may mount. */
export const canMount = process.platform === 'linux' && process.getuid?.() === 0

/** Mounts a file system for the length of a call. */
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
    // Lazily: a process that was killed a moment ago may still be letting go of its files.
    execFileSync('umount', ['--lazy', place])
  }
}
