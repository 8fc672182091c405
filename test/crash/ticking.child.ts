/** One of several processes that have the same app open; it does nothing but tick, until it is killed. */
import { open } from '../../src/app/open.ts'
import { childArgument, fromParent, tellParent } from '../support/child-program.ts'
import { type TickingArgument, ticking } from './ticking.ts'

const { data } = childArgument<TickingArgument>()
const mill = await open(ticking, { data })
tellParent({ kind: 'opened' })
await fromParent('stop')
await mill.close()
process.disconnect?.()
