/** A worker process that merges talks, slowly enough to be killed in the middle. */
import { setTimeout as after } from 'node:timers/promises'
import { open } from '../../src/index.ts'
import { childArgument, tellParent } from '../support/child-program.ts'
import { talksApp } from './talks.ts'

const { data } = childArgument<{ readonly data: string }>()
const app = talksApp(tellParent, async (talk) => {
  await after(talk.length % 7)
})
const mill = await open(app, { data })
const stopped = mill.worker({ poll: ['delay'], handle: {}, concurrency: 8 }).run()
tellParent({ kind: 'ready' })
await stopped
await mill.close()
process.disconnect?.()
