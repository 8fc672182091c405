/** The stand-in as a program, for trying the system by hand. */
import { once } from 'node:events'
import { ClaudeStandIn } from './claude-stand-in.ts'

const standIn = await ClaudeStandIn.start(4577)
console.log(`claude ${standIn.url}`)
await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
await standIn[Symbol.asyncDispose]()
