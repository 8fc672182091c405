/** One of several processes on one file: sends its messages while it works off those of all. */
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { childArgument, fromParent, tellParent } from '../support/child-program.ts'
import type { ShareArgument, ShareReport } from './share.ts'

const { file, queue, name, sends } = childArgument<ShareArgument>()
const backend = await openSqlite({ file })
const stopping = new AbortController()
const report: ShareReport = { kind: 'report', sent: [], delivered: [], acknowledged: [] }

tellParent({ kind: 'opened' })
await fromParent('start')
void fromParent('stop').then(() => stopping.abort())
await Promise.all([produce(), consume(), consume()])
await backend.close()
tellParent(report)
process.disconnect?.()

async function produce(): Promise<void> {
  for (let index = 0; index < sends; index += 1) {
    const body = `${name}.${index}`
    const messages = [
      queue.endsWith('.fifo') ? { body, group: name, deduplicationId: body } : { body },
    ]
    for (const result of await backend.send({ queue, messages })) {
      if (result.status === 'refused') throw result.error
      report.sent.push(result.id)
    }
  }
}

async function consume(): Promise<void> {
  while (!stopping.signal.aborted) {
    const { signal } = stopping
    const deliveries = await backend
      .receive({ queue, max: 5, waitMs: 20_000, visibilityMs: 600_000, signal })
      .catch((error: unknown) => {
        if (signal.aborted) return []
        throw error
      })
    for (const { id, receipt, token, body } of deliveries) {
      const [sender = '', index] = body.split('.')
      report.delivered.push({ id, token, sender, index: Number(index) })
      const settlements = [{ receipt, outcome: { kind: 'acknowledge' as const } }]
      const [result] = await backend.settle({ queue, settlements })
      if (result?.status !== 'settled') throw new Error(`A live lease was ${result?.status}.`)
      report.acknowledged.push(id)
    }
    if (deliveries.length > 0) tellParent({ kind: 'progress', count: deliveries.length })
  }
}
