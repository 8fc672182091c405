/** A worker process that does what its tasks say, until it is asked to stop or killed. */
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as after } from 'node:timers/promises'
import { type HandlerContext, open } from '../../src/index.ts'
import type { LentClient } from '../../src/postgres.ts'
import { childArgument, tellParent } from '../support/child-program.ts'
import { sharedMs, type TaskMessage, type WorkerArgument, workshop } from './workshop.ts'

type Context = HandlerContext<(typeof workshop)['queues']>

const argument = childArgument<WorkerArgument>()
const noteEffect = argument.ledger === undefined ? undefined : openLedger(argument.ledger)
const mill = await open(workshop, { store: argument.store })
const worker = mill.worker({
  poll: argument.poll,
  concurrency: argument.concurrency,
  stopTimeout: argument.stopTimeout ?? '10s',
  handle: {
    TASK: async ({ does, takesMs, failsUntil }, context) => {
      tell('started', context)
      if (does === 'kill') process.abort()
      if (takesMs > 0) await after(takesMs)
      if (argument.patient && (does === 'hang' || does === 'listen')) {
        await endless(does === 'listen' ? context.signal : undefined)
      }
      if (context.attempt <= failsUntil) throw new Error('This attempt was meant to fail.')
      noteEffect?.(context)
      if (argument.writesWithin) context.within(effectOf(context))
      context.send('effects', context.id)
      tell('ended', context)
      return { token: context.token }
    },
  },
})
const stopped = worker.run()
tellParent({ kind: 'ready' })
await stopped
await mill.close()
process.disconnect?.()

function tell(kind: TaskMessage['kind'], { queue, id, attempt, token }: Context): void {
  const run = { queue: queue as TaskMessage['queue'], id, attempt, token }
  tellParent<TaskMessage>({ kind, ...run, atMs: sharedMs(), wallMs: Date.now() })
}

function endless(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason))
  })
}

/** The table has no key: every effect that is kept is a row more. */
function effectOf({ id, token }: Context): (client: LentClient) => unknown {
  return (client) =>
    client.query('INSERT INTO public.effect (id, token) VALUES ($1, $2)', [id, token])
}

/** Each effect is a row of its own, and a run that comes late does not overwrite a later one. */
function openLedger(file: string): (context: Context) => void {
  const db = new DatabaseSync(file, { timeout: 10_000 })
  const note = db.prepare(`
    INSERT INTO effect (id, token) VALUES (?, ?)
    ON CONFLICT (id) DO UPDATE SET token = excluded.token WHERE excluded.token > token`)
  return ({ id, token }) => {
    note.run(id, token)
  }
}
