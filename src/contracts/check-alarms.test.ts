import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { complaints } from '../../test/support/complaints.ts'
import { dead, depth, errorRate, oldestAge } from './alarm-declaration.ts'
import { queue } from './queue-declaration.ts'

const about = (alarms: unknown): readonly string[] =>
  complaints('app', { queues: { mail: queue(), video: queue() }, alarms })

describe('alarms', () => {
  test('are written as sentences, and are plain data', () => {
    const alarms = [
      dead('*').above(10),
      depth('mail').above(1_000, { period: '5m', evaluationPeriods: 3, datapointsToAlarm: 2 }),
      oldestAge('video').above(60, { statistic: 'average', missingData: 'breaching' }),
      errorRate('*').below(0.05, { name: 'all is well' }),
    ]
    assert.deepEqual(about(alarms), [])
    assert.deepEqual(alarms, [
      { metric: 'dead_letters', queue: '*', comparison: 'above', threshold: 10 },
      {
        metric: 'depth',
        queue: 'mail',
        comparison: 'above',
        threshold: 1_000,
        period: '5m',
        evaluationPeriods: 3,
        datapointsToAlarm: 2,
      },
      {
        metric: 'oldest_age',
        queue: 'video',
        comparison: 'above',
        threshold: 60,
        statistic: 'average',
        missingData: 'breaching',
      },
      {
        metric: 'error_rate',
        queue: '*',
        comparison: 'below',
        threshold: 0.05,
        name: 'all is well',
      },
    ])
  })

  const alarm = dead('*').above(10)
  test.each([
    [{}, "alarms: got a value of type object, expected an array such as [dead('*').above(10)]"],
    [['dead'], "alarms[0]: got 'dead', expected one such as dead('*').above(10)"],
    [
      [alarm, dead('vidoe').above(1)],
      "alarms[1].queue: got 'vidoe', expected one of *, mail, video",
    ],
    [
      [{ ...alarm, metric: 'cpu' }],
      "alarms[0].metric: got 'cpu', expected one of dead_letters, depth, oldest_age, error_rate",
    ],
    [
      [{ ...alarm, comparison: 'over' }],
      "alarms[0].comparison: got 'over', expected one of above, below",
    ],
    [[dead('*').above(Number.NaN)], 'alarms[0].threshold: got NaN, expected a number'],
    [[{ ...alarm, threshold: '10' }], "alarms[0].threshold: got '10', expected a number"],
    [[{ ...alarm, name: '' }], "alarms[0].name: got '', expected a string of 1 to 256 characters"],
    [
      [{ ...alarm, statistic: 'p99' }],
      "alarms[0].statistic: got 'p99', expected one of maximum, minimum, average, sum",
    ],
    [
      [{ ...alarm, missingData: 'bad' }],
      "alarms[0].missingData: got 'bad', expected one of missing, ignore, breaching, not_breaching",
    ],
    [[{ ...alarm, period: '1s' }], 'alarms[0].period: got 1s, expected a duration, 10s to 1d'],
    [
      [{ ...alarm, evaluationPeriods: 0 }],
      'alarms[0].evaluationPeriods: got 0, expected a whole number, 1 to 1440 periods',
    ],
    [
      [{ ...alarm, evaluationPeriods: 3, datapointsToAlarm: 4 }],
      'alarms[0].datapointsToAlarm: got 4, expected a whole number, 1 to 3 of the periods looked at',
    ],
    [
      [{ ...alarm, datapointsToAlarm: 2 }],
      'alarms[0].datapointsToAlarm: got 2, expected a whole number, 1 to 1 of the periods looked at',
    ],
    [
      [{ ...alarm, treshold: 4 }],
      'alarms[0].treshold: got an unknown setting, expected one of metric, queue, comparison, ' +
        'threshold, name, statistic, period, evaluationPeriods, datapointsToAlarm, missingData; ' +
        "did you mean 'threshold'?",
    ],
  ])('are refused: %j', (alarms, complaint) => {
    assert.deepEqual(about(alarms), [complaint])
  })
})
