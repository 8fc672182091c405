/** A worker process that tells what it has run, until it is asked to stop. */
import { open } from '../../src/index.ts'
import { childArgument, tellParent } from '../support/child-program.ts'
import { type Classified, type TutorArgument, tutor } from './tutor.ts'

const { data } = childArgument<TutorArgument>()
const mill = await open(tutor, { data })
const worker = mill.worker({
  poll: ['classify'],
  handle: { CLASSIFY: (text) => tellParent<Classified>({ kind: 'classified', text }) },
})
const stopped = worker.run()
tellParent({ kind: 'ready' })
await stopped
await mill.close()
process.disconnect?.()
