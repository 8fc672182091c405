import assert from 'node:assert/strict'
import { test } from 'vitest'
import { queueMetrics } from '../../backends/queue-metrics.ts'
import { alarmMetrics } from '../../core/alarm-metrics.ts'
import { cloudWatchStatistics } from '../../core/cloudwatch-words.ts'

test('whatever an alarm can watch of a queue is written down, with the same usual statistic', () => {
  const known: Readonly<Record<string, { readonly statistic: string } | undefined>> = queueMetrics
  const watched = Object.values(alarmMetrics).filter(({ of }) => of === 'queue')
  assert.deepEqual(
    watched.map(({ name }) => [name, known[name]?.statistic]),
    watched.map(({ name, statistic }) => [name, cloudWatchStatistics[statistic]]),
  )
})
