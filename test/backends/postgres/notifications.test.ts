/** When other processes are notified of a new message: by its commit, or after it. */
import assert from 'node:assert/strict'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { Connections } from '../../../src/backends/postgres/driver/connections.ts'
import { Notifications } from '../../../src/backends/postgres/driver/notifications.ts'
import { StatementTexts } from '../../../src/backends/postgres/driver/statement-texts.ts'
import { openPostgres } from '../../../src/backends/postgres/index.ts'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { freshDatabase } from '../../services/fresh-database.ts'

const queue = 'scans'

test('a commit notifies, and a statement does where no commit may', async () => {
  const { url } = await freshDatabase()
  const ports = virtualPorts()
  const { backend } = await openPostgres({ url, ports, usesPortsTime: true })
  onTestFinished(() => backend.close())
  await backend.createQueue({ queue, settings: {} })
  const pool = new pg.Pool({ connectionString: url })
  const connections = new Connections(pool, new StatementTexts('s', []), { isOwn: true })
  onTestFinished(() => connections.close())
  const listener = new pg.Client({ connectionString: url })
  await listener.connect()
  onTestFinished(() => listener.end())
  const heard: unknown[] = []
  await listener.query('LISTEN "millrace:millrace"')
  listener.on('notification', ({ payload = '' }) => heard.push(JSON.parse(payload).slice(1)))

  await backend.send({ queue, messages: [{ body: 'alone' }] })
  await expect.poll(() => heard).toEqual([[[queue], [queue]]])
  const changes = { queues: new Set([queue]), gained: new Set<string>() }
  const { clock } = ports
  const notifications = new Notifications({
    ports,
    connections,
    channel: 'millrace:millrace',
    connect: () => new pg.Client({ connectionString: url }),
    onChange: () => undefined,
  })
  assert.equal(notifications.ofCommit(changes)?.[0], 'millrace:millrace')
  await clock.advance(5)
  notifications.committed()
  await clock.advance(4)
  assert.equal(notifications.ofCommit(changes), undefined)
  notifications.send(changes)
  await expect.poll(() => heard.at(-1)).toEqual([[queue], []])
  await clock.advance(1)
  assert.ok(notifications.ofCommit(changes))
})
