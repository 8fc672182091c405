/** The app as a template for AWS. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { checkPolicies, checkQueues } from '../shared/test/check-export.ts'

const app = join(import.meta.dirname, 'declared-academy.ts')

describe('the exported template', () => {
  test('deploys the 8 queues, in every format', async () => {
    assert.equal((await checkQueues(app)).length, 8)
  })

  test('has one policy per role and queue, and warns about what AWS cannot do', async () => {
    const notes = await checkPolicies(app)
    for (const part of [/tiers of the app/]) assert.match(notes, part)
  })
})
