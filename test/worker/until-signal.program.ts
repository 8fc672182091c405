/** Runs a worker until a signal, then tells that it has closed. Arguments: folder, stop timeout. */
import { open } from '../../src/index.ts'
import { forge } from './forge.ts'

const [data = '', stopMs = '30000'] = process.argv.slice(2)
const mill = await open(forge, { data })
const worker = mill.worker({
  poll: ['basic'],
  concurrency: 4,
  stopTimeout: { ms: Number(stopMs) },
  handle: {
    WORK: async ({ ms }) => {
      process.stdout.write('started\n')
      await new Promise((resolve) => setTimeout(resolve, ms).unref())
      return 'done'
    },
  },
})
await worker.run()
await mill.close()
process.stdout.write('closed\n')
