/** An open workshop, the worker processes that serve it, and what they have told about their tasks. */
import assert from 'node:assert/strict'
import { type Mill, open } from '../../src/index.ts'
import { freshDatabase } from '../services/fresh-database.ts'
import { type ChildEnd, type ChildMessage, ChildProgram } from '../support/child-program.ts'
import { assertSoundPostgres } from '../support/postgres-inspection.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import {
  sharedMs,
  type Task,
  type TaskMessage,
  type TaskQueue,
  type WorkerArgument,
  workshop,
} from './workshop.ts'

/** One attempt of a task in one process. */
export interface TaskRun extends Omit<TaskMessage, 'kind' | 'atMs'> {
  readonly worker: WorkshopWorker
  readonly startedMs: number
  /** When its handler ended, or its process was dead; undefined as long as it may still run. */
  endedMs?: number
}

export class WorkshopScene {
  readonly mill: Mill<typeof workshop>
  /** A folder, or the URL of a database. */
  readonly store: string
  /** In the order in which they were heard of. */
  readonly runs: TaskRun[] = []
  readonly #workers = new Set<WorkshopWorker>()
  readonly #waiting = new Set<() => void>()
  #failure: Error | undefined

  constructor(mill: Mill<typeof workshop>, store: string) {
    this.mill = mill
    this.store = store
  }

  /** Starts a worker process; it takes work as soon as it is up. */
  start(options: Omit<WorkerArgument, 'store'>): WorkshopWorker {
    const worker = new WorkshopWorker(this, { ...options, store: this.store })
    this.#workers.add(worker)
    void worker.gone().then(({ code, errorText }) => {
      this.#workers.delete(worker)
      // A process that was killed has no exit code, and one that was stopped has zero.
      if (code !== null && code !== 0) this.#failure ??= new Error(`A worker failed. ${errorText}`)
      this.stir()
    })
    return worker
  }

  /** Waits until something holds that follows from what the workers tell. */
  async until(holds: () => boolean): Promise<void> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure
      if (holds()) return
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  /** Lets everybody who waits look again. */
  stir(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }

  /** Enqueues tasks; the answer is their ids. */
  async enqueue(
    queue: TaskQueue,
    tasks: readonly Task[],
    options: { readonly attempts?: number } = {},
  ): Promise<readonly string[]> {
    const ids: string[] = []
    for (let from = 0; from < tasks.length; from += 1_000) {
      const jobs = tasks
        .slice(from, from + 1_000)
        .map((payload) => ({ type: 'TASK' as const, payload, ...options }))
      ids.push(...(await this.mill.jobs.enqueueMany(queue, jobs)).map(({ id }) => id))
    }
    return ids
  }

  /** Asks all workers to stop, and waits until they have and everything they told has arrived. */
  async stopAll(): Promise<void> {
    const ends = await Promise.all([...this.#workers].map((worker) => worker.stop()))
    for (const { code, errorText } of ends) assert.equal(code, 0, errorText)
  }

  /** Leaves no process behind, whatever has become of them. */
  async killAll(): Promise<void> {
    await Promise.allSettled([...this.#workers].map((worker) => worker.kill()))
  }
}

export class WorkshopWorker {
  readonly #scene: WorkshopScene
  readonly #child: ChildProgram
  readonly #runs = new Map<number, TaskRun>()
  readonly #ready = Promise.withResolvers<void>()

  constructor(scene: WorkshopScene, argument: WorkerArgument) {
    this.#scene = scene
    this.#child = new ChildProgram(new URL('./workshop.child.ts', import.meta.url), argument)
    this.#child.follow<ChildMessage | TaskMessage>((message) => {
      if ('token' in message) this.#note(message)
      else this.#ready.resolve()
      scene.stir()
    })
  }

  /** The tasks that it has begun and not ended, as far as it has told. */
  get running(): readonly TaskRun[] {
    return [...this.#runs.values()].filter(({ endedMs }) => endedMs === undefined)
  }

  /** Answers when it takes work, and listens for a request to stop. */
  ready(): Promise<void> {
    return this.#ready.promise
  }

  async kill(): Promise<void> {
    await this.#child.kill()
    this.#endRuns()
  }

  /** Stops the whole process where it stands, until it is resumed. */
  pause(): void {
    this.#child.pause()
  }

  resume(): void {
    this.#child.resume()
  }

  /** Asks it to stop, and waits until it has. */
  async stop(): Promise<ChildEnd> {
    await Promise.race([this.#ready.promise, this.#child.gone()])
    this.#child.terminate()
    return this.gone()
  }

  async gone(): Promise<ChildEnd> {
    const end = await this.#child.gone()
    this.#endRuns()
    return end
  }

  #note({ kind, atMs, ...told }: TaskMessage): void {
    const known = this.#runs.get(told.token)
    if (kind === 'ended') {
      assert.ok(known !== undefined)
      known.endedMs = atMs
      return
    }
    const run: TaskRun = { ...told, worker: this, startedMs: atMs }
    this.#runs.set(told.token, run)
    this.#scene.runs.push(run)
  }

  #endRuns(): void {
    const nowMs = sharedMs()
    for (const run of this.running) run.endedMs = nowMs
  }
}

/** Runs a test in a workshop of its own; when it has passed, its store has to be sound. */
export function inWorkshop(
  purpose: string,
  run: (scene: WorkshopScene) => Promise<void>,
): Promise<void> {
  return inTemporaryFolder(purpose, async ({ path }) => {
    const { storeFile } = await inOpenWorkshop(path, run)
    assert.ok(storeFile !== null)
    assertSoundStore(storeFile)
  })
}

/** The same, with a database of its own. */
export async function inPostgresWorkshop(
  run: (scene: WorkshopScene) => Promise<void>,
): Promise<void> {
  const { url } = await freshDatabase()
  await inOpenWorkshop(url, run)
  await assertSoundPostgres({ url, schema: 'millrace' })
}

async function inOpenWorkshop(
  store: string,
  run: (scene: WorkshopScene) => Promise<void>,
): Promise<Mill<typeof workshop>> {
  // Attempts are lost all the time, and need not be printed.
  const mill = await open(workshop, { store, log: false })
  const scene = new WorkshopScene(mill, store)
  try {
    await run(scene)
  } finally {
    await scene.killAll()
    await mill.close()
  }
  return mill
}
