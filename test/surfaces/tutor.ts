/** The app of the tests about `millrace switch`, in a module that a worker process can load. */
import { z } from 'zod'
import { defineApp, jobs, queue } from '../../src/index.ts'
import type { ChildMessage } from '../support/child-program.ts'

export const tutor = defineApp('tutor', {
  queues: {
    classify: jobs({ types: { CLASSIFY: z.string() }, obeys: 'LLM_PAUSED' }),
    notes: queue(),
  },
})

export interface TutorArgument {
  readonly data: string
}

export interface Classified extends ChildMessage {
  readonly kind: 'classified'
  readonly text: string
}
