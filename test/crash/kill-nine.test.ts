import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'vitest'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { ChildProgram } from '../support/child-program.ts'
import { seed } from '../support/seed.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { Journal } from './load.ts'
import { assertNothingLost, prepareQueues } from './load-check.ts'

const runs = 30

describe(`a process that is killed under load (MILLRACE_SEED=${seed})`, () => {
  test(`loses nothing and brings nothing back, ${runs} times over`, async () => {
    await inTemporaryFolder('kill-nine', async (folder) => {
      const randomness = seededRandomness(seed)
      const file = folder.file('store.db')
      const journal = folder.file('journal.txt')
      await prepareQueues(file)
      for (let run = 0; run < runs; run += 1) {
        const child = new ChildProgram(new URL('./load.child.ts', import.meta.url), {
          file,
          journal,
          run,
        })
        // The child's own progress sets the moment, early as well as late.
        const moment = Math.floor(randomness.next() ** 2 * 150)
        for (let step = 0; step <= moment; step += 1) await child.next('progress')
        await child.kill()
        await assertNothingLost(file, new Journal(await readFile(journal, 'utf8')))
        assertSoundStore(file)
      }
      const { sent, acknowledged } = new Journal(await readFile(journal, 'utf8'))
      assert.ok(sent.size > runs && acknowledged.size > runs, 'there was hardly any load')
    })
  })
})
