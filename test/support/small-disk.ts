/** A disk of a few megabytes, and a way to fill it. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { withMounted } from './mounting.ts'
import { inTemporaryFolder } from './temporary-folder.ts'

/** Runs a test on a small disk; the temporary folder is on another disk. */
export function onSmallDisk(
  run: (disk: string, folder: string) => Promise<void>,
  size = '6m',
): Promise<void> {
  return inTemporaryFolder('full-disk', (folder) =>
    withMounted(['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs'], folder.file('disk'), (disk) =>
      run(disk, folder.path),
    ),
  )
}

/** Fills the rest of the disk, like another program. */
export function fillWithBallast(disk: string): string {
  const ballast = `${disk}/ballast`
  for (const bytes of [2 ** 20, 2 ** 16, 2 ** 12]) {
    try {
      for (;;) writeFileSync(ballast, Buffer.alloc(bytes), { flag: 'a' })
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
    }
  }
  return ballast
}
