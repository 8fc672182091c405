/** The store of metrics. Every commit of metrics takes along what this process counted in memory. */

import type { MetricStore } from '../../backends/metric-store.ts'
import type { Database } from '../database.ts'
import type { EmptyReceives } from '../messages/empty-receives.ts'
import type { Step } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { readMinutes, readSnapshot } from './metric-minutes.ts'
import { latestValues, readValues } from './metric-values.ts'
import {
  addEmptyReceives,
  addFigures,
  isSampleDue,
  nothingToSample,
  sampleMinute,
} from './recording.ts'

export function metricStore(database: Database, emptyReceives: EmptyReceives): MetricStore {
  async function withEmptyReceives<T>(rule: (tx: Transaction) => Step<T>): Promise<T> {
    const counts = emptyReceives.take()
    try {
      return await database.change(function* (tx) {
        yield* addEmptyReceives(tx, counts)
        return yield* rule(tx)
      })
    } catch (error) {
      for (const [queue, count] of counts) emptyReceives.note(queue, count)
      throw error
    }
  }
  return {
    sample: async () => {
      const nothing = await database.read(function* (view) {
        return (yield* isSampleDue(view)) ? undefined : nothingToSample(view.now)
      })
      if (nothing !== undefined && emptyReceives.isEmpty) return nothing
      return withEmptyReceives(sampleMinute)
    },
    report: async (request) => {
      const { queues, values = [] } = request
      if (queues.length === 0 && values.length === 0 && emptyReceives.isEmpty) return
      await withEmptyReceives((tx) => addFigures(tx, request))
    },
    minutes: (request) => database.read((view) => readMinutes(view, request)),
    snapshot: (request) => database.read((view) => readSnapshot(view, request)),
    values: (request) => database.read((view) => readValues(view, request)),
    latest: (request) => database.read((view) => latestValues(view, request)),
  }
}
