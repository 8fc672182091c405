import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { QueueMinute } from '../../backends/metric-store.ts'
import { quietMinute } from '../../backends/queue-metrics.ts'
import { durationBuckets } from '../../core/duration-buckets.ts'
import { handlerFigures } from '../../core/handler-figures.ts'
import { type MetricStatistic, metricSeries, metricStatistics } from './metric-data.ts'

const minuteMs = 60_000
const noon = Date.UTC(2026, 0, 1, 12)

function minute(index: number, figures: Partial<QueueMinute>): QueueMinute {
  return { minute: noon + index * minuteMs, ...quietMinute, ...figures }
}

function ran(msSum: number, msMax: number, count: number): QueueMinute['handlers'] {
  const buckets = Array.from({ length: durationBuckets }, (_, index) => (index === 0 ? count : 0))
  return handlerFigures({ completed: count }, { count, msSum, msMax, buckets })
}

describe("a queue's minutes in CloudWatch's words", () => {
  test('are one value for each minute of which something is known', () => {
    const minutes = [minute(0, { sent: 3 }), minute(1, { sent: 0 }), minute(5, { sent: 4 })]
    assert.deepEqual(metricSeries(minutes, { metric: 'NumberOfMessagesSent' }), {
      metric: 'NumberOfMessagesSent',
      statistic: 'Sum',
      unit: 'Count',
      periodMs: minuteMs,
      timestamps: [0, 1, 5].map((index) => noon + index * minuteMs),
      values: [3, 0, 4],
    })
  })

  test('fall into periods that begin with the clock', () => {
    const minutes = [4, 5, 6, 11].map((index) => minute(index, { ready: index }))
    const values = (statistic: MetricStatistic) => {
      const request = { metric: 'ApproximateNumberOfMessagesVisible', statistic } as const
      return metricSeries(minutes, { ...request, periodMs: 5 * minuteMs })
    }
    const starts = [0, 5, 10].map((index) => noon + index * minuteMs)
    assert.deepEqual(values('Maximum').timestamps, starts)
    const expected: Readonly<Record<MetricStatistic, readonly number[]>> = {
      Sum: [4, 11, 11],
      Average: [4, 5.5, 11],
      Minimum: [4, 5, 11],
      Maximum: [4, 6, 11],
      SampleCount: [1, 2, 1],
    }
    for (const statistic of metricStatistics) {
      assert.deepEqual(values(statistic).values, expected[statistic], statistic)
    }
  })

  test('have an age in whole seconds, and 0 when nothing waits', () => {
    const minutes = [minute(0, { oldestAgeMs: 61_900 }), minute(1, {})]
    const { values, unit } = metricSeries(minutes, { metric: 'ApproximateAgeOfOldestMessage' })
    assert.deepEqual([values, unit], [[61, 0], 'Seconds'])
  })

  test('average the time of handlers over attempts, not over minutes', () => {
    const minutes = [
      minute(0, { handlers: ran(10, 10, 1) }),
      minute(1, {}),
      minute(2, { handlers: ran(290, 200, 2) }),
    ]
    const series = (statistic: MetricStatistic) =>
      metricSeries(minutes, { metric: 'HandlerDuration', statistic, periodMs: 5 * minuteMs })
    assert.deepEqual(series('Average').values, [100])
    assert.deepEqual(series('Maximum').values, [200])
    assert.deepEqual(series('SampleCount').values, [3])
    assert.deepEqual(series('Minimum').values, [], 'the shortest is not kept')
  })
})
