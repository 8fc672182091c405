import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { virtualPorts } from '../../../testing/virtual-clock.ts'
import { WakeFile } from './wake-file.ts'

/** Lets real events of the file system arrive, without moving the clock. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

describe('a wake file', () => {
  test('that is written while its listener pauses wakes it after the pause, not at the next poll', async () => {
    const folder = await temporaryFolder('wakeFile')
    const ports = virtualPorts()
    let version = 0
    let changes = 0
    const wakeFile = new WakeFile({
      file: folder.file('wakeFile'),
      ports,
      version: () => version,
      onChange: () => {
        changes += 1
        // A look that takes 2 ms is followed by a rest of 20 ms.
        ports.clock.block(2)
      },
      isAwaited: () => true,
    })
    onTestFinished(async () => {
      wakeFile.close()
      await folder.remove()
    })
    wakeFile.listen()
    const notify = (): void => {
      version += 1
      wakeFile.notify()
    }
    notify()
    await until(() => changes === 1)
    const timers = ports.clock.pendingTimers
    notify()
    await until(() => ports.clock.pendingTimers > timers)
    assert.equal(changes, 1)
    await ports.clock.advance(20)
    assert.equal(changes, 2)
  })
})
