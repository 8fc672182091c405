/** The time of an answer must not tell a foreign job from a missing one. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { createJobsApi } from '../../../src/server.ts'
import { openJobs } from '../../support/jobs-scene.ts'
import { auth, keys } from './scene.ts'

describe('a job that a caller may not see', () => {
  test('is answered as late as one that does not exist', async () => {
    const { mill, clock } = await openJobs()
    const ports = { clock, timers: clock, ids: { next: () => 'r' }, randomness: { next: () => 0 } }
    const api = createJobsApi(mill, { auth: { apiKeys: auth.apiKeys }, ports })
    const { id } = await mill.jobs.enqueue('basic', 'OMR', 'x'.repeat(100_000), { owner: 'bob' })
    for (const asked of [id, 'missing']) {
      let isAnswered = false
      const request = new Request(`http://localhost/jobs/${asked}`, {
        headers: { 'x-api-key': keys.alice },
      })
      const answer = api.fetch(request).finally(() => {
        isAnswered = true
      })
      await clock.advance(9)
      assert.equal(isAnswered, false, asked)
      await clock.advance(1)
      assert.equal((await answer).status, 404)
    }
  })
})
