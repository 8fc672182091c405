import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { MillraceError } from '../core/millrace-error.ts'
import { chain } from './chain-declaration.ts'
import { triggers } from './collector-declaration.ts'
import { defineApp } from './define-app.ts'
import { flow } from './flow-declaration.ts'
import { jobs } from './jobs-declaration.ts'
import { fifo, queue } from './queue-declaration.ts'

const queues = {
  extract: queue(),
  ordered: fifo(),
  courses: jobs({ types: { OUTLINE: z.string() } }),
  ticks: triggers(),
}

interface Parts {
  readonly flows?: unknown
  readonly chains?: unknown
}

/** What is wrong with an app that declares these, by field. */
function refusals(parts: Parts): Readonly<Record<string, string>> {
  try {
    // The checks are there for what the types did not see.
    defineApp('library', { queues, ...(parts as object) })
    return {}
  } catch (error) {
    assert.ok(error instanceof MillraceError)
    assert.equal(error.code, 'invalid_contract')
    // That no collector uses the queue of triggers is not the matter here.
    const ours = error.violations.filter(({ field }) => !field.startsWith('queues.'))
    return Object.fromEntries(ours.map(({ field, allowed }) => [field, allowed]))
  }
}

const units = 'extract'

describe('a declared flow', () => {
  test('is accepted with everything that it may say', () => {
    const full = flow({
      units: 'ordered',
      finalize: 'extract',
      failed: 'courses',
      onUnitFailure: 'fail',
      deadline: '40m',
      onDeadline: 'fail',
      keepWork: true,
      keep: '7d',
    })
    assert.deepEqual(refusals({ flows: { full, bare: flow({ units: 'courses' }) } }), {})
  })

  test.each<readonly [string, object, string]>([
    ['units', { units: 'extracts' }, "the key of a declared queue; did you mean 'extract'?"],
    ['units', {}, 'the key of a declared queue'],
    ['units', { units: 'ticks' }, 'the key of a declared queue'],
    ['finalize', { units, finalize: 'missing' }, 'the key of a declared queue'],
    ['failed', { units, failed: 5, onUnitFailure: 'fail' }, 'the key of a declared queue'],
    ['onUnitFailure', { units, onUnitFailure: 'retry' }, 'one of wait, fail, finalize'],
    ['onDeadline', { units, deadline: '1h', onDeadline: 'wait' }, 'one of report, fail, finalize'],
    ['onDeadline', { units, onDeadline: 'fail' }, 'a flow with a deadline'],
    ['deadline', { units, deadline: '10ms' }, 'a duration, 1s to 366d'],
    ['keep', { units, keep: 'long' }, "a duration, 1m to 10 years, written as '30s'"],
    ['keepWork', { units, keepWork: 'yes' }, 'true or false'],
  ])('is refused where %s is wrong', (setting, options, allowed) => {
    const broken = { kind: 'flow', options }
    assert.deepEqual(refusals({ flows: { broken } }), { [`flows.broken.${setting}`]: allowed })
  })

  test('does not name a queue for failures that cannot happen', () => {
    const found = refusals({ flows: { mild: flow({ units, failed: 'courses' }) } })
    assert.match(found['flows.mild.failed'] ?? '', /onUnitFailure: 'fail' or onDeadline: 'fail'/)
  })

  test('has readable texts only', () => {
    const found = refusals({ flows: { odd: { kind: 'flow', options: { units, finalise: 'x' } } } })
    assert.match(found['flows.odd.finalise'] ?? '', /did you mean 'finalize'/)
  })
})

describe('a declared chain', () => {
  const step = { name: 'outline', queue: 'courses', type: 'OUTLINE' }

  test('is accepted with messages and jobs as its steps', () => {
    const course = chain({
      steps: [step, { name: 'print', queue: 'extract', from: (result) => result }],
      deadline: '1h',
      keep: '1d',
    })
    assert.deepEqual(refusals({ chains: { course } }), {})
  })

  test.each<readonly [string, unknown, string]>([
    ['steps', [], 'an array of 1 to 100 steps'],
    ['steps', { outline: step }, 'an array of 1 to 100 steps'],
    ['steps', Array.from({ length: 101 }, () => step), 'an array of 1 to 100 steps'],
    ['steps[0]', ['outline'], "a step such as { name: 'outline', queue: 'generate' }"],
    ['steps[0].name', [{ ...step, name: '' }], 'a string of 1 to 256 characters'],
    ['steps[1].name', [step, step], 'a name that no other step of the chain has'],
    [
      'steps[0].queue',
      [{ ...step, queue: 'course' }],
      "the key of a declared queue; did you mean 'courses'?",
    ],
    ['steps[0].queue', [{ name: 'a', queue: 'ordered' }], 'a standard queue or a jobs queue'],
    ['steps[0].type', [{ name: 'a', queue: 'courses' }], 'one of OUTLINE'],
    ['steps[0].type', [{ ...step, type: 'OUTLIN' }], "one of OUTLINE; did you mean 'OUTLINE'?"],
    ['steps[0].type', [{ ...step, type: 'constructor' }], 'one of OUTLINE'],
    [
      'steps[0].type',
      [{ name: 'a', queue: 'extract', type: 'X' }],
      'none: the queue is not a jobs queue',
    ],
    ['steps[1].from', [step, { name: 'b', queue: 'extract', from: 5 }], 'a function'],
    [
      'steps[0].from',
      [{ ...step, from: () => 1 }],
      'none: the first step gets the start value of the chain',
    ],
    ['steps[0].after', [{ ...step, after: 'x' }], 'one of name, queue, type, from'],
  ])('is refused where %s is wrong', (place, steps, allowed) => {
    const found = refusals({ chains: { course: { kind: 'chain', options: { steps } } } })
    assert.equal(found[`chains.course.${place}`], allowed)
  })
})

describe('the names of flows and chains', () => {
  test('are one set, since they share the store', () => {
    const steps = [{ name: 'a', queue: 'extract' }] as const
    const found = refusals({
      flows: { videoPages: flow({ units }), 'video-pages': flow({ units }) },
      chains: { VideoPages: chain({ steps }) },
    })
    assert.deepEqual(found, {
      'flows.video-pages': 'a unique name; flows.videoPages already has it',
      'chains.VideoPages': 'a unique name; flows.videoPages already has it',
    })
  })

  test('are words, and what stands under them was declared', () => {
    assert.deepEqual(Object.keys(refusals({ flows: { 'a b': flow({ units }) } })), ['flows.a b'])
    assert.deepEqual(Object.keys(refusals({ flows: { a: {} }, chains: { b: flow({ units }) } })), [
      'flows.a',
      'chains.b',
    ])
    assert.deepEqual(refusals({ flows: [], chains: 5 }), {
      flows: 'an object of flows',
      chains: 'an object of chains',
    })
  })
})
