import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { open } from '../../src/index.ts'
import { freshDatabase } from '../services/fresh-database.ts'
import { ChildProgram } from '../support/child-program.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { type TaskMessage, type WorkerArgument, workshop } from './workshop.ts'

const program = new URL('./workshop.child.ts', import.meta.url)

const stores = {
  SQLite: (run: (store: string) => Promise<void>): Promise<void> =>
    inTemporaryFolder('lost-attempts', ({ path }) => run(path)),
  Postgres: async (run: (store: string) => Promise<void>): Promise<void> =>
    run((await freshDatabase()).url),
}

describe.each(Object.entries(stores))(
  'a process that is killed in a handler, on %s',
  (_, inStore) => {
    test('has its attempt printed by the process that runs the job next', () =>
      inStore(async (store) => {
        const id = await enqueueHanging(store)
        const worker: WorkerArgument = { store, poll: ['tasks'], concurrency: 1 }
        const killed = new ChildProgram(program, { ...worker, patient: true })
        assert.equal((await killed.next<TaskMessage>('started')).attempt, 1)
        const next = new ChildProgram(program, worker)
        await next.next('ready')
        await killed.kill()
        assert.equal((await next.next<TaskMessage>('ended')).attempt, 2)
        next.terminate()
        const { code, errorText } = await next.gone()
        assert.equal(code, 0, errorText)
        assert.equal(
          errorText,
          `millrace: job TASK ${id} of tasks: attempt 1 of 3 was lost, another worker may run it again\n` +
            '  The lease ended before the attempt was settled.\n',
        )
      }))
  },
)

/** No other process may have the store open, because any of them could be the one that notices the loss. */
async function enqueueHanging(store: string): Promise<string> {
  await using mill = await open(workshop, { store })
  return (await mill.jobs.enqueue('tasks', 'TASK', { does: 'hang' })).id
}
