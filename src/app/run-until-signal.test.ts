import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, test, vi } from 'vitest'
import { gate, openScene, type WorkerScene, withTime } from '../../test/support/worker-scene.ts'
import type { Backend } from '../backends/backend.ts'
import { defineApp } from '../contracts/define-app.ts'
import { queue } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { runUntilSignal } from './run-until-signal.ts'

const app = defineApp('academy', { queues: { video: queue(), mail: queue() } })
type Academy = typeof app

async function scene(wrap?: (backend: Backend) => Backend): Promise<WorkerScene<Academy>> {
  return openScene(app, wrap && { wrap })
}

/** Notes what is called, in order. */
function partsIn(calls: string[], { mill }: Pick<WorkerScene<Academy>, 'mill'>) {
  return {
    mill: {
      close: () => {
        calls.push('close')
        return mill.close()
      },
    },
    api: { stop: async () => void calls.push('stop') },
  }
}

describe('runUntilSignal', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'runs workers until %s, lets handlers end, and closes the app last',
    async (signal) => {
      const opened = await scene()
      const { mill, clock, settle } = opened
      const done = gate()
      const calls: string[] = []
      const parts = partsIn(calls, opened)
      const handle = { video: () => done.opened, mail: () => void calls.push('mail') }
      const workers = [
        mill.worker({ poll: ['video'], handle }),
        mill.worker({ poll: ['mail'], handle }),
      ]
      const ended = runUntilSignal(parts.mill, ...workers, parts.api)
      await mill.queues.video.send(1)
      await mill.queues.mail.send(1)
      await settle()
      assert.deepEqual(calls, ['mail'])
      process.emit(signal, signal)
      await mill.queues.mail.send(2)
      await settle()
      assert.deepEqual(calls, ['mail', 'stop'])
      done.open()
      assert.equal(await withTime(clock, ended), undefined)
      assert.deepEqual(calls, ['mail', 'stop', 'close'])
      assert.equal(process.listenerCount(signal), 0)
    },
  )

  test('stops servers of Node, and needs no worker', async () => {
    const { mill, clock } = await scene()
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const ended = runUntilSignal(mill, server)
    process.emit('SIGTERM', 'SIGTERM')
    await withTime(clock, ended)
    assert.equal(server.listening, false)
    await assert.rejects(mill.ready(), { code: 'store_closed' })
  })

  test('ends when all workers were stopped', async () => {
    const { mill, clock } = await scene()
    const worker = mill.worker({ poll: ['mail'], handle: { mail: () => undefined } })
    const ended = runUntilSignal(mill, worker)
    await worker.stop()
    await withTime(clock, ended)
    assert.equal(process.listenerCount('SIGTERM'), 0)
  })

  test('closes everything and rejects when a worker lost its store', async () => {
    let isReplaced = false
    const opened = await scene((backend) => ({
      ...backend,
      receive: (request) =>
        isReplaced ? Promise.reject(new MillraceError('store_replaced')) : backend.receive(request),
    }))
    const { mill, clock, settle } = opened
    const calls: string[] = []
    const parts = partsIn(calls, opened)
    const worker = mill.worker({ poll: ['mail'], handle: { mail: () => undefined } })
    const refused = assert.rejects(runUntilSignal(parts.mill, worker, parts.api), {
      code: 'store_replaced',
    })
    await settle()
    isReplaced = true
    await mill.queues.mail.send(1)
    await withTime(clock, refused)
    assert.deepEqual(calls, ['stop', 'close'])
  })

  test('closes the app also when a part cannot be stopped, and rejects with the reason', async () => {
    const opened = await scene()
    const calls: string[] = []
    const { mill } = partsIn(calls, opened)
    const reason = new Error('The port is stuck.')
    const broken = {
      stop: () => {
        throw reason
      },
    }
    const refused = assert.rejects(runUntilSignal(mill, broken), reason)
    process.emit('SIGTERM', 'SIGTERM')
    await withTime(opened.clock, refused)
    assert.deepEqual(calls, ['close'])
  })

  test('exits at once at a second signal, but not at the echo of the first', async () => {
    const { mill, clock } = await scene()
    const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never)
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000)
    const done = gate()
    try {
      const ended = runUntilSignal(mill, { stop: () => done.opened })
      process.emit('SIGINT', 'SIGINT')
      now.mockReturnValue(1_300)
      process.emit('SIGINT', 'SIGINT')
      assert.deepEqual(exit.mock.calls, [])
      now.mockReturnValue(1_301)
      process.emit('SIGTERM', 'SIGTERM')
      assert.deepEqual(exit.mock.calls, [[130]])
      assert.deepEqual(write.mock.calls, [['Received SIGTERM while stopping: exiting at once.\n']])
      done.open()
      await withTime(clock, ended)
    } finally {
      for (const spy of [exit, write, now]) spy.mockRestore()
    }
  })
})
