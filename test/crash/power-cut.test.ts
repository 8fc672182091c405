import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'vitest'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { ChildProgram } from '../support/child-program.ts'
import { canMount, withMounted } from '../support/mounting.ts'
import { seed } from '../support/seed.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { Journal } from './load.ts'
import { assertNothingLost, prepareQueues } from './load-check.ts'

const cuts = 6

describe.skipIf(!canMount)(`a power cut under load (MILLRACE_SEED=${seed})`, () => {
  test(`loses nothing that was answered, ${cuts} times over`, () =>
    inTemporaryFolder('power-cut', async (folder) => {
      const randomness = seededRandomness(seed)
      for (let cut = 0; cut < cuts; cut += 1) {
        // A disk in a file: what the file holds at the moment of the copy is what the disk had got.
        const disk = folder.file(`disk-${cut}.img`)
        const crashed = folder.file(`crashed-${cut}.img`)
        const journal = folder.file(`journal-${cut}.txt`)
        execFileSync('truncate', ['--size', '64M', disk])
        execFileSync('mkfs.ext4', ['-q', '-F', disk])
        await withMounted(['-o', 'loop', disk], folder.file(`live-${cut}`), async (live) => {
          const file = `${live}/store.db`
          await prepareQueues(file)
          const child = new ChildProgram(new URL('./load.child.ts', import.meta.url), {
            file,
            journal,
            run: cut,
          })
          const moment = 20 + Math.floor(randomness.next() * 200)
          for (let step = 0; step <= moment; step += 1) await child.next('progress')
          child.pause()
          copyFileSync(disk, crashed)
          await child.kill()
        })
        await withMounted(['-o', 'loop', crashed], folder.file(`after-${cut}`), async (after) => {
          const told = new Journal(await readFile(journal, 'utf8'))
          assert.ok(told.sent.size > 0, 'there was no load')
          await assertNothingLost(`${after}/store.db`, told)
          assertSoundStore(`${after}/store.db`)
        })
      }
    }))
})
