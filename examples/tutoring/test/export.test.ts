/** The app as a template for AWS. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { checkPolicies, checkQueues } from '../../shared/test/check-export.ts'

const app = join(import.meta.dirname, '../backend/app.ts')

describe('the exported template', () => {
  test('deploys the 14 queues, in every format', async () => {
    assert.equal((await checkQueues(app)).length, 14)
  })

  test('has one policy per role and queue, and warns about what AWS cannot do', async () => {
    const notes = await checkPolicies(app)
    for (const part of [/budgets of the app/, /llm-classify-queue: .*kill switches/])
      assert.match(notes, part)
  })
})
