import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { complaints } from '../../test/support/complaints.ts'
import {
  dead,
  depth,
  errorRate,
  inFlight,
  metric,
  oldestAge,
  overdueFlows,
} from './alarm-declaration.ts'
import { flow } from './flow-declaration.ts'
import { jobs } from './jobs-declaration.ts'
import { fifo, queue } from './queue-declaration.ts'

const queues = {
  mail: queue(),
  video: queue(),
  ordered: fifo(),
  tasks: jobs({ types: { A: z.object({}) } }),
}
const flows = { album: flow({ units: 'video' }) }

const about = (alarms: unknown, others: object = {}): readonly string[] =>
  complaints('app', { queues, flows, alarms, ...others })

const metrics =
  'dead_letters, depth, in_flight, delayed, oldest_age, sent, received, deleted, empty_receives, ' +
  'deduplicated, dead_lettered, expired, error_rate, overdue_flows, value'
const options =
  'comparison, threshold, name, description, severity, statistic, period, evaluationPeriods, ' +
  'datapointsToAlarm, missingData, actions'

describe('alarms', () => {
  test('are written as sentences, and are plain data', () => {
    const alarms = [
      dead('*').above(10),
      depth('mail').above(1_000, { period: '5m', evaluationPeriods: 3, datapointsToAlarm: 2 }),
      oldestAge('video').above(60, { statistic: 'average', missingData: 'breaching' }),
      errorRate('*').below(0.05, { name: 'all is well' }),
      inFlight('mail').atOrAbove(5, { severity: 'critical', description: 'busy' }),
      overdueFlows('album').above(0),
      metric('stuck').atOrBelow(1, { actions: [{ webhook: 'https://example.com/a' }] }),
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
      {
        metric: 'in_flight',
        queue: 'mail',
        comparison: 'at_or_above',
        threshold: 5,
        severity: 'critical',
        description: 'busy',
      },
      { metric: 'overdue_flows', flow: 'album', comparison: 'above', threshold: 0 },
      {
        metric: 'value',
        value: 'stuck',
        comparison: 'at_or_below',
        threshold: 1,
        actions: [{ webhook: 'https://example.com/a' }],
      },
    ])
  })

  const alarm = dead('*').above(10)
  test.each([
    [{}, "alarms: got a value of type object, expected an array such as [dead('*').above(10)]"],
    [['dead'], "alarms[0]: got 'dead', expected one such as dead('*').above(10)"],
    [
      [alarm, dead('vidoe').above(1)],
      "alarms[1].queue: got 'vidoe', expected one of *, mail, video, ordered, tasks",
    ],
    [[{ ...alarm, metric: 'cpu' }], `alarms[0].metric: got 'cpu', expected one of ${metrics}`],
    [
      [{ ...alarm, comparison: 'over' }],
      "alarms[0].comparison: got 'over', expected one of above, at_or_above, below, at_or_below",
    ],
    [[dead('*').above(Number.NaN)], 'alarms[0].threshold: got NaN, expected a number'],
    [[{ ...alarm, threshold: '10' }], "alarms[0].threshold: got '10', expected a number"],
    [[{ ...alarm, name: '' }], "alarms[0].name: got '', expected a string of 1 to 255 characters"],
    [
      [{ ...alarm, statistic: 'p99' }],
      "alarms[0].statistic: got 'p99', expected one of maximum, minimum, average, sum, sample_count",
    ],
    [
      [{ ...alarm, missingData: 'bad' }],
      "alarms[0].missingData: got 'bad', expected one of missing, ignore, breaching, not_breaching",
    ],
    [[{ ...alarm, period: '1s' }], 'alarms[0].period: got 1s, expected a duration, 1m to 1d'],
    [[{ ...alarm, period: '90s' }], "alarms[0].period: got '90s', expected whole minutes"],
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
      `alarms[0].treshold: got an unknown setting, expected one of metric, queue, ${options}; ` +
        "did you mean 'threshold'?",
    ],
    [
      [{ ...alarm, period: '1h', evaluationPeriods: 25 }],
      'alarms[0].evaluationPeriods: got 25 periods that are more than a day together, ' +
        'expected at most a day',
    ],
    [
      [{ ...alarm, severity: 'fatal' }],
      "alarms[0].severity: got 'fatal', expected one of warning, critical",
    ],
    [[overdueFlows('albun').above(0)], "alarms[0].flow: got 'albun', expected one of *, album"],
    [
      [{ ...overdueFlows('album').above(0), queue: 'mail' }],
      `alarms[0].queue: got an unknown setting, expected one of metric, flow, ${options}`,
    ],
    [[metric('').above(0)], "alarms[0].value: got '', expected a string of 1 to 255 characters"],
    [
      [depth('mail').above(1, { name: 'a' }), depth('video').above(1, { name: 'a' })],
      "alarms[1].name: got 'a', expected a name of its own; alarms[0] has this one",
    ],
  ])('are refused: %j', (alarms, complaint) => {
    assert.deepEqual(about(alarms), [complaint])
  })

  const expectedUrl =
    'an http or https address of at most 2048 characters, without a user or password'
  test.each([
    ['mail', "an array such as [{ webhook: 'https://example.com/alarms' }]", "'mail'", ''],
    [
      [{ webhook: 'https://a.example', queue: 'mail' }],
      "{ webhook: 'https://…' } or { queue: 'key' }",
      'a value of type object',
      '[0]',
    ],
    [[{ webhook: 'ftp://a.example' }], expectedUrl, 'something else', '[0].webhook'],
    [[{ webhook: 'https://me:pw@a.example' }], expectedUrl, 'something else', '[0].webhook'],
    [[{ queue: 'male' }], 'one of mail, video, ordered, tasks', "'male'", '[0].queue'],
    [
      [{ queue: 'ordered' }],
      'a queue declared with queue({...})',
      'a FIFO queue, or one of jobs',
      '[0].queue',
    ],
    [
      [{ queue: 'tasks' }],
      'a queue declared with queue({...})',
      'a FIFO queue, or one of jobs',
      '[0].queue',
    ],
    [[{ queue: 'mail', on: ['RED'] }], 'one of OK, ALARM, INSUFFICIENT_DATA', "'RED'", '[0].on'],
    [[{ queue: 'mail', on: [] }], 'an array of OK, ALARM, INSUFFICIENT_DATA', 'an array', '[0].on'],
    [
      Array.from({ length: 6 }, () => ({ queue: 'mail' })),
      'a whole number, 0 to 5 actions',
      '6',
      '.length',
    ],
  ])('have their actions refused: %j', (actions, allowed, given, where) => {
    const complaint = (field: string): readonly string[] => [
      `${field}${where}: got ${given}, expected ${allowed}`,
    ]
    assert.deepEqual(about([{ ...alarm, actions }]), complaint('alarms[0].actions'))
    assert.deepEqual(about([], { alarmActions: actions }), complaint('alarmActions'))
  })
})
