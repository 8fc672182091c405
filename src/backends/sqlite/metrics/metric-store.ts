/** The store of metrics. Every commit of metrics takes along what this process counted in memory. */

import type { MetricStore } from '../../metric-store.ts'
import { readNow } from '../driver/operations.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Writer } from '../driver/writer.ts'
import type { EmptyReceives } from '../messages/empty-receives.ts'
import { readMinutes, readSnapshot } from './metric-minutes.ts'
import { latestValues, readValues } from './metric-values.ts'
import {
  addEmptyReceives,
  addFigures,
  isSampleDue,
  nothingToSample,
  sampleMinute,
} from './recording.ts'

export function metricStore(writer: Writer, emptyReceives: EmptyReceives): MetricStore {
  async function withEmptyReceives<T>(apply: (tx: StoreTransaction) => T): Promise<T> {
    const counts = emptyReceives.take()
    try {
      return await writer.submit((tx) => {
        addEmptyReceives(tx, counts)
        return apply(tx)
      })
    } catch (error) {
      for (const [queue, count] of counts) emptyReceives.note(queue, count)
      throw error
    }
  }
  return {
    sample: async () => {
      const nothing = await readNow(writer, (view) =>
        isSampleDue(view) ? undefined : nothingToSample(view.now),
      )
      if (nothing !== undefined && emptyReceives.isEmpty) return nothing
      return withEmptyReceives(sampleMinute)
    },
    report: async (request) => {
      const { queues, values = [] } = request
      if (queues.length === 0 && values.length === 0 && emptyReceives.isEmpty) return
      await withEmptyReceives((tx) => addFigures(tx, request))
    },
    minutes: (request) => readNow(writer, (view) => readMinutes(view, request)),
    snapshot: (request) => readNow(writer, (view) => readSnapshot(view, request)),
    values: (request) => readNow(writer, (view) => readValues(view, request)),
    latest: (request) => readNow(writer, (view) => latestValues(view, request)),
  }
}
