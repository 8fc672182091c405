/** The app as a template for AWS. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { checkPolicies, checkQueues } from '../../shared/test/check-export.ts'

const app = join(import.meta.dirname, '../declared-ingestion.ts')

describe('the exported template', () => {
  test('deploys the 7 queues, in every format', async () => {
    assert.equal((await checkQueues(app)).length, 7)
  })

  test('has one policy per role and queue, and warns about what AWS cannot do', async () => {
    const notes = await checkPolicies(app)
    for (const part of [
      /flows of the app/,
      /schedules of the app/,
      /extract-jobs: .*ceilings .* kill switches/,
    ])
      assert.match(notes, part)
  })
})
