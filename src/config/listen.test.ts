import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { describe, test } from 'vitest'
import { systemPorts } from '../core/ports.ts'
import { type Listener, listen } from './listen.ts'

const { timers } = systemPorts

function listenWith(
  answer: RequestListener,
  at = { host: '127.0.0.1', port: 0 },
): Promise<Listener> {
  return listen({ ...at, answer, timers })
}

describe('a listener', () => {
  test('answers on the address that it names, IPv6 included', async () => {
    for (const host of ['127.0.0.1', '::1', 'localhost']) {
      const listener = await listenWith((_, response) => response.end('here'), { host, port: 0 })
      assert.equal(await (await fetch(listener.url)).text(), 'here')
      await listener.close()
    }
  })

  test('lets a request finish that it has when it closes, and takes no other', async () => {
    const finish = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    const listener = await listenWith((_, response) => {
      arrived.resolve()
      void finish.promise.then(() => response.end('finished'))
    })
    const response = fetch(listener.url)
    await arrived.promise
    const closed = listener.close()
    await assert.rejects(fetch(listener.url))
    finish.resolve()
    assert.equal(await (await response).text(), 'finished')
    await closed
  })

  test('gives up on requests that do not end in time', async () => {
    const arrived = Promise.withResolvers<void>()
    const due: (() => void)[] = []
    const listener = await listen({
      host: '127.0.0.1',
      port: 0,
      answer: () => arrived.resolve(),
      timers: {
        ...timers,
        after: (_, run) => {
          due.push(run)
          return () => {}
        },
      },
    })
    const response = fetch(listener.url)
    await arrived.promise
    const closed = listener.close()
    for (const run of due) run()
    await assert.rejects(response)
    await closed
  })

  test('refuses an address that another one has', async () => {
    const first = await listenWith((_, response) => response.end())
    await assert.rejects(
      listenWith((_, response) => response.end(), { host: first.host, port: first.port }),
      { code: 'address_unavailable', message: /another program is using the port/ },
    )
    await first.close()
  })
})
