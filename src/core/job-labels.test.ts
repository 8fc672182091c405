import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  givenLabels,
  hasLabels,
  jobLabelNames,
  jobLabels,
  keptLabels,
  labelsView,
} from './job-labels.ts'

const given = (label: (typeof jobLabelNames)[number]): object => ({
  [label]: jobLabels[label].kind === 'texts' ? ['a'] : 'a',
})

describe('the labels of a job', () => {
  test.each(jobLabelNames)('%s is noticed, kept, and given again', (label) => {
    assert.equal(hasLabels(given(label)), true)
    const kept = keptLabels(given(label))
    assert.deepEqual(Object.keys(kept), [...jobLabelNames])
    assert.deepEqual({ ...givenLabels(kept) }, given(label))
  })

  test('are null or empty where none was given', () => {
    assert.equal(hasLabels({}), false)
    assert.deepEqual(keptLabels({}), { tier: null, traceId: null, tags: [] })
    assert.deepEqual(labelsView(keptLabels({})), { tier: null, trace_id: null, tags: [] })
    assert.deepEqual({ ...givenLabels(keptLabels({})) }, {})
  })
})
