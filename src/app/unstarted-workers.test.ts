import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import { started, withTime } from '../../test/support/worker-scene.ts'
import { defineApp } from '../contracts/define-app.ts'
import { queue } from '../contracts/queue-declaration.ts'
import { type VirtualClock, virtualPorts } from '../testing/virtual-clock.ts'
import type { Notice } from './notice.ts'
import { type Mill, open } from './open.ts'

const app = defineApp('academy', { queues: { video: queue(), mail: queue() } })
const handle = { video: () => undefined, mail: () => undefined }
const notice: Notice = { kind: 'worker_not_started', queues: ['video', 'mail'] }

interface Scene {
  readonly mill: Mill<typeof app>
  readonly clock: VirtualClock
  readonly notices: readonly Notice[]
}

async function scene(): Promise<Scene> {
  const folder = await temporaryFolder('unstarted')
  onTestFinished(() => folder.remove())
  const ports = virtualPorts()
  const notices: Notice[] = []
  const onNotice = (one: Notice): void => void notices.push(one)
  const mill = await open(app, { data: folder.file('data'), ports, onNotice })
  onTestFinished(() => withTime(ports.clock, mill.close()))
  return { mill, clock: ports.clock, notices }
}

describe('a worker that is created and not started', () => {
  test('is reported once, after five seconds', async () => {
    const { mill, clock, notices } = await scene()
    mill.worker({ poll: ['video', 'mail'], handle })
    await clock.advance(4_999)
    assert.deepEqual(notices, [])
    await clock.advance(1)
    assert.deepEqual(notices, [notice])
    await clock.advance(60_000)
    await withTime(clock, mill.close())
    assert.deepEqual(notices, [notice])
  })

  test('is reported when the app is closed before that', async () => {
    const { mill, clock, notices } = await scene()
    mill.worker({ poll: ['video', 'mail'], handle })
    await withTime(clock, mill.close())
    assert.deepEqual(notices, [notice])
    await clock.advance(60_000)
    assert.deepEqual([notices.length, clock.pendingTimers], [1, 0])
  })

  test('is not reported when it is started in time, though it is stopped again', async () => {
    const { mill, clock, notices } = await scene()
    const worker = started(mill.worker({ poll: ['video', 'mail'], handle }))
    await withTime(clock, worker.stop())
    await clock.advance(60_000)
    await withTime(clock, mill.close())
    assert.deepEqual(notices, [])
  })
})
