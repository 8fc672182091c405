import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type Datapoint, evaluateAlarm, evaluationRange, isBeyond } from './alarm-evaluation.ts'
import type { AlarmCondition, AlarmState, MissingData } from './alarm-rule.ts'

/** `0` is a good number, `X` one beyond the threshold, `-` a gap; oldest first, as AWS writes it. */
function range(text: string): readonly Datapoint[] {
  return text.split(' ').map((sign, index) => ({
    at: index * 60_000,
    value: sign === '-' ? null : sign === 'X' ? 11 : 1,
  }))
}

function condition(parts: Partial<AlarmCondition> = {}): AlarmCondition {
  return {
    threshold: 10,
    comparison: 'above',
    evaluationPeriods: 3,
    datapointsToAlarm: 3,
    missingData: 'missing',
    ...parts,
  }
}

const rules: readonly MissingData[] = ['missing', 'ignore', 'breaching', 'not_breaching']

function statesOf(
  text: string,
  datapointsToAlarm: number,
  current: AlarmState,
): readonly AlarmState[] {
  return rules.map(
    (missingData) =>
      evaluateAlarm(condition({ datapointsToAlarm, missingData }), range(text), current).state,
  )
}

const alarm = 'ALARM'
const unknown = 'INSUFFICIENT_DATA'

describe('the state of an alarm', () => {
  test('is worked out over two periods more than it looks at', () => {
    assert.equal(evaluationRange({ evaluationPeriods: 3 }), 5)
    assert.equal(evaluationRange({ evaluationPeriods: 1 }), 3)
  })

  // The two tables of CloudWatch's documentation, row by row; `keep` is the state from before.
  describe.each(['OK', alarm, unknown] as const)('as CloudWatch has it, from %s', (keep) => {
    test.each([
      [3, '0 - X - X', 'OK', 'OK', 'OK', 'OK'],
      [3, '0 - - - -', 'OK', 'OK', 'OK', 'OK'],
      [3, '- - - - -', unknown, keep, alarm, 'OK'],
      [3, '0 X X - X', alarm, alarm, alarm, alarm],
      [3, '- - X - -', alarm, keep, alarm, 'OK'],
      [2, '0 - X - X', alarm, alarm, alarm, alarm],
      [2, '0 0 X 0 X', alarm, alarm, alarm, alarm],
      [2, '0 - X - -', 'OK', 'OK', alarm, 'OK'],
      [2, '- - - - 0', 'OK', 'OK', alarm, 'OK'],
      [2, '- - - X -', alarm, keep, alarm, 'OK'],
    ] as const)('%d of 3 at %s', (datapoints, text, ...expected) => {
      assert.deepEqual(statesOf(text, datapoints, keep), expected)
    })

    test.each(['- - - - X', '- - - X -'])('is not raised too early at %s', (text) => {
      const [missing, ignored] = statesOf(text, 3, keep)
      assert.deepEqual([missing, ignored], ['OK', keep])
    })
  })

  test('follows a level that stays beyond the threshold for as long as asked, and not longer', () => {
    const five = condition({ evaluationPeriods: 5, datapointsToAlarm: 5 })
    const at = (text: string): AlarmState => evaluateAlarm(five, range(text), 'OK').state
    assert.equal(at('0 0 0 X X X X'), 'OK')
    assert.equal(at('0 0 X X X X X'), alarm)
    assert.equal(at('0 X X X X X 0'), 'OK')
  })

  test('says why, with the newest numbers first', () => {
    const { reason } = evaluateAlarm(condition({ datapointsToAlarm: 2 }), range('0 0 X 0 X'), 'OK')
    assert.equal(
      reason,
      'Of the latest 3 numbers 2 are above 10 (newest first: 11, 1, 11); an alarm needs 2 of 3.',
    )
    const gaps = evaluateAlarm(condition({ missingData: 'breaching' }), range('- - - - X'), 'OK')
    assert.equal(
      gaps.reason,
      'Of the last 3 periods one has a number, 11, which is above 10; ' +
        '2 are missing, taken as beyond the threshold; an alarm needs 3 of 3.',
    )
    const nothing = evaluateAlarm(condition(), range('- - - - -'), 'OK')
    assert.equal(nothing.reason, 'No data for the last 3 periods.')
  })

  test.each<[string, Partial<AlarmCondition>, string]>([
    ['0', { evaluationPeriods: 1 }, 'The latest number is 1, which is not above 10.'],
    ['X', { evaluationPeriods: 1 }, 'The latest number is 11, which is above 10.'],
    ['-', { evaluationPeriods: 1 }, 'No data for the last period.'],
    [
      ...(['-', { evaluationPeriods: 1, missingData: 'not_breaching' }] as const),
      'No data for the last period, taken as within the threshold.',
    ],
    [
      ...(['0 0 0', {}] as const),
      'Of the latest 3 numbers none is above 10 (newest first: 1, 1, 1); an alarm needs 3 of 3.',
    ],
    [
      ...(['0 X 0', {}] as const),
      'Of the latest 3 numbers 1 is above 10 (newest first: 1, 11, 1); an alarm needs 3 of 3.',
    ],
    [
      ...(['0 X', { missingData: 'ignore' }] as const),
      'Of the latest 2 numbers 1 is above 10 (newest first: 11, 1); 1 is missing, and ignored; ' +
        'an alarm needs 3 of 3.',
    ],
  ])('says of %s in plain words why (%#)', (text, other, sentence) => {
    const { evaluationPeriods = 3 } = other
    const rule = condition({ datapointsToAlarm: evaluationPeriods, ...other })
    assert.equal(evaluateAlarm(rule, range(text), 'OK').reason, sentence)
  })

  test.each([
    ['above', false, true],
    ['at_or_above', true, true],
    ['below', false, false],
    ['at_or_below', true, false],
  ] as const)('compares as it says: %s', (comparison, atThreshold, aboveIt) => {
    assert.equal(isBeyond(10, { comparison, threshold: 10 }), atThreshold)
    assert.equal(isBeyond(11, { comparison, threshold: 10 }), aboveIt)
    assert.equal(isBeyond(9, { comparison, threshold: 10 }), !aboveIt)
  })
})
