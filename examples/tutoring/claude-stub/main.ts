/** Runs the stub as a program, to try the system by hand. */
import { once } from 'node:events'
import { ClaudeStub } from './claude-stub.ts'

const stub = await ClaudeStub.start(4577)
console.log(`claude ${stub.url}`)
await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
await stub[Symbol.asyncDispose]()
