/**
 * The replies engine with one command: brings the template up, starts the server, the webhooks and a
 * worker, plays a story through them, and stops everything.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RepliesSystem } from './demo/replies-system.ts'
import { playStory } from './demo/story.ts'

const folder = await mkdtemp(join(tmpdir(), 'millrace-replies-'))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const lines: string[] = []
const system = await RepliesSystem.start({ folder, onLine: (line) => lines.push(line) })
console.log(`Server ${system.endpoint}`)
try {
  await playStory(system, (line) => console.log(line))
} catch (error) {
  console.error(lines.join('\n'))
  throw error
} finally {
  const codes = await system.stop()
  console.log(`Stopped the webhooks, the worker and the server, exit codes ${codes.join(', ')}`)
}
await rm(folder, { recursive: true })
console.log('Everything is as it should be.')
