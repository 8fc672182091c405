/** An open app with jobs, on a real store and a virtual clock. */
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Mill, open } from '../../src/app/open.ts'
import type { Backend, Outcome } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { type App, defineApp } from '../../src/contracts/define-app.ts'
import { type JobsQueue, jobs } from '../../src/contracts/jobs-declaration.ts'
import { queue, type StandardQueue } from '../../src/contracts/queue-declaration.ts'
import { type VirtualClock, virtualPorts } from '../../src/testing/virtual-clock.ts'
import { temporaryFolder } from './temporary-folder.ts'

const Ocr = z.object({ examId: z.string(), pages: z.string().transform(Number).optional() })
const Omr = { schema: z.unknown(), attempts: 5 }

type AcademyApp = App<{
  basic: JobsQueue<{ OCR: typeof Ocr; OMR: typeof Omr }>
  lite: JobsQueue<{ OCR: typeof Ocr }>
  mail: StandardQueue
}>

export const academy: AcademyApp = defineApp('academy', {
  queues: {
    basic: jobs({ types: { OCR: Ocr, OMR: Omr }, idempotencyFor: '1h', visibilityTimeout: '5m' }),
    lite: jobs({ types: { OCR: Ocr }, attempts: 2 }),
    mail: queue(),
  },
})

export interface JobsScene {
  readonly mill: Mill<AcademyApp>
  readonly backend: Backend
  readonly clock: VirtualClock
  /** Receives one job of `basic` and settles it in the given way. */
  settleOne(outcome: Outcome): Promise<void>
}

export async function openJobs(): Promise<JobsScene> {
  const folder = await temporaryFolder('jobs')
  const ports = virtualPorts()
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  const mill = await open(academy, { backend, ports })
  onTestFinished(async () => {
    await mill.close()
    await backend.close()
    await folder.remove()
  })
  return {
    mill,
    backend,
    clock: ports.clock,
    async settleOne(outcome) {
      const name = mill.queues.basic.name
      const [delivery] = await backend.receive({ queue: name, max: 1 })
      if (delivery === undefined) throw new Error('there was no job to receive')
      const settlements = [{ receipt: delivery.receipt, outcome }]
      await backend.settle({ queue: name, settlements })
    },
  }
}
