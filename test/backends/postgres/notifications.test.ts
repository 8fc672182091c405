/** When other processes are notified of a new message: by its commit, or after it. */
import assert from 'node:assert/strict'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openPostgres } from '../../../src/backends/postgres/index.ts'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { freshDatabase } from '../../services/fresh-database.ts'

const queue = 'scans'

test('a commit notifies by itself, unless another one did so just before', async () => {
  const { url } = await freshDatabase()
  const ports = virtualPorts()
  const { backend } = await openPostgres({ url, ports, usesPortsTime: true })
  onTestFinished(() => backend.close())
  await backend.createQueue({ queue, settings: {} })
  await ports.clock.advance(1_000)
  const listener = new pg.Client({ connectionString: url })
  await listener.connect()
  onTestFinished(() => listener.end())
  await listener.query('LISTEN "millrace:millrace"')
  const gained: unknown[] = []
  listener.on('notification', ({ payload = '' }) => {
    gained.push(JSON.parse(payload).slice(1))
  })
  const send = (body: string): Promise<unknown> => backend.send({ queue, messages: [{ body }] })

  await send('the commit notifies')
  await expect.poll(() => gained).toHaveLength(1)
  await send('a statement after the commit notifies')
  await expect.poll(() => gained).toHaveLength(2)
  await ports.clock.advance(10)
  await send('a commit notifies again')
  await expect.poll(() => gained).toHaveLength(3)
  assert.deepEqual(gained[0], [[queue], [queue]])
  assert.deepEqual(new Set(gained.map(String)).size, 1)
})
