/** A disk of a few megabytes, and what takes the rest of it. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { withMounted } from './mounting.ts'
import { inTemporaryFolder } from './temporary-folder.ts'

/** Runs on a disk of a few megabytes; the folder is on another one. */
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

/** Another program takes what is left of the disk. */
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
