import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { complaints } from '../../test/support/complaints.ts'
import { alarm } from './alarm-declaration.ts'
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
      alarm.dead('*').above(10),
      alarm
        .depth('mail')
        .above(1_000, { period: '5m', evaluationPeriods: 3, datapointsToAlarm: 2 }),
      alarm.oldestAge('video').above('1m', { statistic: 'average', missingData: 'breaching' }),
      alarm.errorRate('*').below(0.05, { name: 'all is well' }),
      alarm.inFlight('mail').atOrAbove(5, { severity: 'critical', description: 'busy' }),
      alarm.overdueFlows('album').above(0),
      alarm.metric('stuck').atOrBelow(1, { actions: [{ webhook: 'https://example.com/a' }] }),
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

  const declared = alarm.dead('*').above(10)
  test.each([
    [
      {},
      "alarms: got a value of type object, expected an array such as [alarm.dead('*').above(10)]",
    ],
    [['dead'], "alarms[0]: got 'dead', expected an alarm such as alarm.dead('*').above(10)"],
    [
      [declared, alarm.dead('vidoe').above(1)],
      "alarms[1].queue: got 'vidoe', expected one of *, mail, video, ordered, tasks",
    ],
    [[{ ...declared, metric: 'cpu' }], `alarms[0].metric: got 'cpu', expected one of ${metrics}`],
    [
      [{ ...declared, comparison: 'over' }],
      "alarms[0].comparison: got 'over', expected one of above, at_or_above, below, at_or_below",
    ],
    [[alarm.dead('*').above(Number.NaN)], 'alarms[0].threshold: got NaN, expected a number'],
    [[{ ...declared, threshold: '10' }], "alarms[0].threshold: got '10', expected a number"],
    [
      [{ ...declared, name: '' }],
      "alarms[0].name: got '', expected a string of 1 to 255 characters",
    ],
    [
      [{ ...declared, statistic: 'p99' }],
      "alarms[0].statistic: got 'p99', expected one of maximum, minimum, average, sum, sample_count",
    ],
    [
      [{ ...declared, missingData: 'bad' }],
      "alarms[0].missingData: got 'bad', expected one of missing, ignore, breaching, not_breaching",
    ],
    [[{ ...declared, period: '1s' }], 'alarms[0].period: got 1s, expected a duration, 1m to 1d'],
    [[{ ...declared, period: '90s' }], "alarms[0].period: got '90s', expected whole minutes"],
    [
      [{ ...declared, evaluationPeriods: 0 }],
      'alarms[0].evaluationPeriods: got 0, expected a whole number, 1 to 1440 periods',
    ],
    [
      [{ ...declared, evaluationPeriods: 3, datapointsToAlarm: 4 }],
      'alarms[0].datapointsToAlarm: got 4, expected a whole number, 1 to 3 of the evaluated periods',
    ],
    [
      [{ ...declared, datapointsToAlarm: 2 }],
      'alarms[0].datapointsToAlarm: got 2, expected a whole number, 1 to 1 of the evaluated periods',
    ],
    [
      [{ ...declared, treshold: 4 }],
      `alarms[0].treshold: got an unknown option, expected one of metric, queue, ${options}; ` +
        "did you mean 'threshold'?",
    ],
    [
      [{ ...declared, period: '1h', evaluationPeriods: 25 }],
      'alarms[0].evaluationPeriods: got 25 periods, together more than a day, ' +
        'expected at most a day',
    ],
    [
      [{ ...declared, severity: 'fatal' }],
      "alarms[0].severity: got 'fatal', expected one of warning, critical",
    ],
    [
      [alarm.overdueFlows('albun').above(0)],
      "alarms[0].flow: got 'albun', expected one of *, album",
    ],
    [
      [{ ...alarm.overdueFlows('album').above(0), queue: 'mail' }],
      `alarms[0].queue: got an unknown option, expected one of metric, flow, ${options}`,
    ],
    [
      [alarm.metric('').above(0)],
      "alarms[0].value: got '', expected a string of 1 to 255 characters",
    ],
    [
      [alarm.depth('mail').above(1, { name: 'a' }), alarm.depth('video').above(1, { name: 'a' })],
      "alarms[1].name: got 'a', expected a unique name; alarms[0] already has it",
    ],
  ])('are refused: %j', (alarms, complaint) => {
    assert.deepEqual(about(alarms), [complaint])
  })

  const expectedUrl = 'an http or https URL of at most 2048 characters, without a user or password'
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
      'a FIFO queue or a jobs queue',
      '[0].queue',
    ],
    [
      [{ queue: 'tasks' }],
      'a queue declared with queue({...})',
      'a FIFO queue or a jobs queue',
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
    assert.deepEqual(about([{ ...declared, actions }]), complaint('alarms[0].actions'))
    assert.deepEqual(about([], { alarmActions: actions }), complaint('alarmActions'))
  })
})
