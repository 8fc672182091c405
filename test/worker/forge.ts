import { z } from 'zod'
import { type App, defineApp } from '../../src/contracts/define-app.ts'
import { type JobsQueue, jobs } from '../../src/contracts/jobs-declaration.ts'

/** Long enough for a busy machine to start the thread that renews leases, short enough to be outlived. */
export const leaseMs = 6_000

const Work = z.object({
  /** How long it takes. */
  ms: z.number().default(0),
  /** Blocks the event loop until this file exists. */
  blockedUntil: z.string().optional(),
  atOnce: z.boolean().optional(),
})

type Forge = App<{ basic: JobsQueue<{ WORK: typeof Work }> }>

/** An app that several processes open on one store. */
export const forge: Forge = defineApp('forge', {
  queues: { basic: jobs({ types: { WORK: Work }, visibilityTimeout: `${leaseMs}ms` }) },
})
