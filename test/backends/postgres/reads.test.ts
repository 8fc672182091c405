/** What a read of several statements sees while another process commits between them. */
import assert from 'node:assert/strict'
import pg from 'pg'
import { onTestFinished, test } from 'vitest'
import { openPostgres } from '../../../src/backends/postgres/index.ts'
import { freshDatabase } from '../../services/fresh-database.ts'

/** A pool that calls a function after each statement, before its caller gets the result. */
function pausingPool(url: string): { readonly pool: pg.Pool; afterEach: () => Promise<unknown> } {
  const paused = {
    pool: new pg.Pool({ connectionString: url }),
    afterEach: async (): Promise<unknown> => undefined,
  }
  paused.pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
    const pausing = async (...args: unknown[]): Promise<unknown> => {
      const result = await query(...args)
      await paused.afterEach()
      return result
    }
    Object.assign(client, { query: pausing })
  })
  return paused
}

test('a job that ends while it is read is found, as it was before', async () => {
  const { url } = await freshDatabase()
  const paused = pausingPool(url)
  const { backend } = await openPostgres({ pool: paused.pool })
  const { backend: other } = await openPostgres({ url })
  onTestFinished(async () => {
    await backend.close()
    await other.close()
    await paused.pool.end()
  })
  const queue = 'orders'
  await other.createQueue({ queue })
  for (let statements = 1; ; statements += 1) {
    const jobs = [{ type: 'SHIP', payload: '{}', maxAttempts: 1 }]
    const [job] = (await other.jobs?.enqueue({ queue, jobs })) ?? []
    const id = job?.id ?? ''
    const [delivery] = await other.receive({ queue, max: 1 })
    let left = statements
    paused.afterEach = async () => {
      left -= 1
      if (left !== 0) return
      const outcome = { kind: 'acknowledge' } as const
      await other.settle({ queue, settlements: [{ receipt: delivery?.receipt ?? '', outcome }] })
    }
    const read = await backend.jobs?.read({ id })
    assert.equal(read?.id, id, `after ${statements} statements`)
    if (left > 0) break
  }
})
