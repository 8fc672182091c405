import { z } from 'zod'
import { type App, defineApp } from '../../src/contracts/define-app.ts'
import { type JobsQueue, jobs } from '../../src/contracts/jobs-declaration.ts'

const Work = z.object({ ms: z.number(), atOnce: z.boolean().optional() })

type Forge = App<{ basic: JobsQueue<{ WORK: typeof Work }> }>

/** An app that several processes open on one store. */
export const forge: Forge = forgeWith('1s')

/** The same for a store that takes longer to connect to. */
export const patientForge: Forge = forgeWith('4s')

function forgeWith(visibilityTimeout: '1s' | '4s'): Forge {
  return defineApp('forge', {
    queues: { basic: jobs({ types: { WORK: Work }, visibilityTimeout }) },
  })
}
