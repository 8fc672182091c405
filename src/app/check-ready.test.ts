import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import { openScene } from '../../test/support/worker-scene.ts'
import type { Backend } from '../backends/backend.ts'
import { defineApp } from '../contracts/define-app.ts'
import { queue } from '../contracts/queue-declaration.ts'
import { virtualPorts } from '../testing/virtual-clock.ts'
import { open } from './open.ts'

const app = defineApp('academy', { queues: { video: queue() } })

describe('ready()', () => {
  test('resolves while the store can be read and written', async () => {
    const { mill } = await openScene(app)
    assert.equal(await mill.ready(), undefined)
  })

  test('rejects with the reason when the files of the store were replaced', async () => {
    const folder = await temporaryFolder('ready')
    onTestFinished(() => folder.remove())
    const ports = virtualPorts()
    const onNotice = (): void => undefined
    const mill = await open(app, { data: folder.file('data'), ports, onNotice })
    onTestFinished(() => mill.close())
    const file = mill.storeFile ?? assert.fail('there is no file')
    await rename(file, `${file}.moved`)
    // The store looks for its files a few times a second.
    await ports.clock.advance(1_000)
    await assert.rejects(mill.ready(), { code: 'store_replaced' })
  })

  test('rejects when the store was closed', async () => {
    const { mill, backend } = await openScene(app)
    await backend.close()
    await assert.rejects(mill.ready(), { code: 'store_closed' })
  })

  test('rejects from the moment that the app is being closed, also on a backend that stays open', async () => {
    const { mill, backend } = await openScene(app)
    const closed = mill.close()
    await assert.rejects(mill.ready(), {
      code: 'store_closed',
      message: 'The app is closed. Open it again to use it.',
    })
    await closed
    await backend.check()
  })

  test('does not wait long for a store that another process holds', async () => {
    const wrap = (backend: Backend): Backend => ({
      ...backend,
      check: () => new Promise(() => undefined),
    })
    const { mill, clock } = await openScene(app, { wrap })
    const refused = assert.rejects(mill.ready(), { code: 'store_busy' })
    await clock.advance(2_000)
    await refused
  })
})
