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
      '2 of the last 3 periods are above 10 (newest first: 11, 1, 11); 2 of 3 make an alarm.',
    )
    const gaps = evaluateAlarm(condition({ missingData: 'breaching' }), range('- - - - X'), 'OK')
    assert.equal(
      gaps.reason,
      '1 of the last 1 period is above 10 (newest first: 11; 2 missing, taken as breaching); ' +
        '3 of 3 make an alarm.',
    )
    const nothing = evaluateAlarm(condition(), range('- - - - -'), 'OK')
    assert.equal(nothing.reason, 'No data for the last 3 periods, which counts as missing.')
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
