import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'vitest'
import { type Job, open } from '../../src/index.ts'
import { type Ended, startCommand } from '../support/cli-process.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { forge } from './forge.ts'

const program = fileURLToPath(new URL('until-signal.program.ts', import.meta.url))

interface Run {
  readonly ended: Ended
  readonly jobs: readonly Job[]
}

/** Starts a worker with more jobs than it can run at once, and signals it when it runs some. */
async function signalled(
  data: string,
  { signal, ms, stopMs }: { signal: NodeJS.Signals; ms: number; stopMs: number },
): Promise<Run> {
  const mill = await open(forge, { data })
  const work = Array.from({ length: 200 }, () => ({ type: 'WORK', payload: { ms } }) as const)
  await mill.jobs.enqueueMany('basic', work)
  const worker = startCommand(process.execPath, [program, data, String(stopMs)])
  await worker.output(/started/)
  worker.kill(signal)
  const ended = await worker.ended
  const { items } = await mill.jobs.list('basic', { limit: 1_000 })
  await mill.close()
  return { ended, jobs: items }
}

describe('a worker process', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('finishes what it runs at %s, then ends', (signal) =>
    inTemporaryFolder('signals', async ({ path }) => {
      const { ended, jobs } = await signalled(path, { signal, ms: 300, stopMs: 30_000 })
      assert.deepEqual([ended.code, ended.signal, ended.stderr], [0, null, ''])
      assert.match(ended.stdout, /closed\n$/)
      const statuses = jobs.map(({ status, attemptsMade }) => `${status} ${attemptsMade}`)
      assert.deepEqual([...new Set(statuses)].sort(), ['completed 1', 'pending 0'])
    }),
  )

  test('hands back what does not end in time, at no cost of an attempt', () =>
    inTemporaryFolder('signals', async ({ path }) => {
      const timing = { ms: 3_600_000, stopMs: 100 }
      const { ended, jobs } = await signalled(path, { signal: 'SIGTERM', ...timing })
      assert.deepEqual([ended.code, ended.signal, ended.stderr], [0, null, ''])
      assert.deepEqual(
        [...new Set(jobs.map(({ status, attemptsMade }) => `${status} ${attemptsMade}`))],
        ['pending 0'],
      )
    }))
})
