/**
 * Runs the demo with one command: starts the server with the queues and functions of serverless.yml and the AI
 * engine, runs a scenario against them, and stops everything.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runScenario } from './demo/scenario.ts'
import { TutoringSystem } from './demo/tutoring-system.ts'

const folder = await mkdtemp(join(tmpdir(), 'millrace-tutoring-'))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const lines: string[] = []
const store = process.env['MILLRACE_STORE'] || join(folder, 'store')
const system = await TutoringSystem.start({ folder, store, onLine: (line) => lines.push(line) })
console.log(`Server ${system.endpoint}, API ${system.apiUrl}`)
try {
  await runScenario(system, (line) => console.log(line))
} catch (error) {
  console.error(lines.join('\n'))
  throw error
} finally {
  const codes = await system.stop()
  console.log(`Stopped the AI engine and the server, exit codes ${codes.join(', ')}`)
}
await rm(folder, { recursive: true })
console.log('All checks passed.')
