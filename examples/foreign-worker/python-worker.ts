/** Starts worker.py with a Python that has boto3. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface WorkerSettings {
  /** The address of the Millrace server. */
  readonly url: string
  /** An API key with the role `worker`. */
  readonly key: string
  /** The name of the queue in the store. */
  readonly queue: string
  readonly leaseSeconds?: number
  readonly onLine?: (line: string) => void
}

export interface PythonWorker {
  readonly pid: number
  /** Asks the worker to finish its job, and resolves with its exit code. */
  stop(): Promise<number | null>
}

/** Undefined if there is none. The second one has the packages of Debian. */
export function findPython(): string | undefined {
  const candidates = [process.env['PYTHON'] ?? 'python3', '/usr/bin/python3']
  return candidates.find((python) => spawnSync(python, ['-c', 'import boto3']).status === 0)
}

export function startWorker(python: string, settings: WorkerSettings): PythonWorker {
  const { url, key, queue, leaseSeconds = 30, onLine = () => undefined } = settings
  const child = spawn(python, [join(import.meta.dirname, 'worker.py')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'] ?? '',
      MILLRACE_URL: url,
      MILLRACE_WORKER_KEY: key,
      QUEUE_NAME: queue,
      LEASE_SECONDS: String(leaseSeconds),
      // The server of this example has no access keys, so any credentials will do.
      AWS_DEFAULT_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
    },
  })
  const ended = once(child, 'close').then(([code]): number | null => code)
  createInterface(child.stdout).on('line', onLine)
  return {
    pid: child.pid ?? 0,
    stop() {
      child.kill('SIGTERM')
      return ended
    },
  }
}
