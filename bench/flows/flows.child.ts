/** The second process of the flows benchmark. It measures the memory of fan-out and fan-in. */
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { answerRequests } from '../child-process.ts'
import { fanOut, markAll } from './fan-out.ts'

export interface FlowsRequest {
  readonly kind: 'resident'
  readonly file: string
  readonly units: number
}

answerRequests(resident)

/** The peak memory in megabytes while the process opens a flow and marks all its units. */
async function resident({ file, units }: FlowsRequest): Promise<number> {
  const queue = 'resident'
  const backend = await openSqlite({ file })
  await backend.createQueue({ queue })
  await fanOut(backend, queue, 'resident', units)
  let most = process.memoryUsage.rss()
  for (let left = units; left > 0; ) {
    const deliveries = await backend.receive({ queue, max: 100 })
    if (deliveries.length === 0) throw new Error('The benchmark ran out of messages.')
    await markAll(backend, queue, deliveries)
    left -= deliveries.length
    most = Math.max(most, process.memoryUsage.rss())
  }
  await backend.close()
  return most / 2 ** 20
}
