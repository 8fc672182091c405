import { z } from 'zod'
import { type App, defineApp } from '../../src/contracts/define-app.ts'
import { type JobsQueue, jobs } from '../../src/contracts/jobs-declaration.ts'

const Work = z.object({ ms: z.number(), atOnce: z.boolean().optional() })

/** An app that several processes open on one store. */
export const forge: App<{ basic: JobsQueue<{ WORK: typeof Work }> }> = defineApp('forge', {
  queues: { basic: jobs({ types: { WORK: Work }, visibilityTimeout: '1s' }) },
})
