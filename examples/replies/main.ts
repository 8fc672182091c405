/**
 * Runs the demo with one command: deploys the template, starts the server, the webhooks and a worker,
 * runs a scenario against them, and stops everything.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RepliesSystem } from './demo/replies-system.ts'
import { runScenario } from './demo/scenario.ts'

const folder = await mkdtemp(join(tmpdir(), 'millrace-replies-'))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const lines: string[] = []
const store = process.env['MILLRACE_STORE'] || folder
const system = await RepliesSystem.start({ folder, store, onLine: (line) => lines.push(line) })
console.log(`Server ${system.endpoint}`)
try {
  const skipsAlarm = process.argv.includes('--skip-alarm')
  await runScenario(system, { skipsAlarm, print: (line) => console.log(line) })
} catch (error) {
  console.error(lines.join('\n'))
  throw error
} finally {
  const codes = await system.stop()
  console.log(`Stopped the webhooks, the worker and the server, exit codes ${codes.join(', ')}`)
}
await rm(folder, { recursive: true })
console.log('All checks passed.')
