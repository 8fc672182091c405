/** A worker as a process of its own, as it would be a container in production. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export type WorkerFile = 'video-worker.ts' | 'ai-worker.ts'

export function startWorker(file: WorkerFile, variables: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, [fileURLToPath(new URL(file, import.meta.url))], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...variables },
  })
}

/** SIGTERM lets a worker finish what it has begun. Answers its exit code. */
export async function stopWorker(worker: ChildProcess): Promise<number | null> {
  if (worker.exitCode === null && worker.signalCode === null) {
    const exit = once(worker, 'exit')
    worker.kill('SIGTERM')
    await exit
  }
  return worker.exitCode
}
