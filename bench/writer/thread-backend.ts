/** A backend whose writer runs in a worker thread. Calls of one event loop turn are sent together. */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'

type Method = 'createQueue' | 'send' | 'receive' | 'settle' | 'close'

interface Call {
  readonly id: number
  readonly method: Method
  readonly argument: unknown
}

interface Answer {
  readonly id: number
  readonly value: unknown
}

export async function openInThread(file: string): Promise<Pick<Backend, Method> & Backend> {
  const worker = new Worker(new URL(import.meta.url), { workerData: file })
  const waiting = new Map<number, (value: unknown) => void>()
  let outgoing: Call[] = []
  let lastId = 0
  worker.on('message', (answers: readonly Answer[]) => {
    for (const { id, value } of answers) {
      waiting.get(id)?.(value)
      waiting.delete(id)
    }
  })
  const call =
    (method: Method) =>
    (argument?: unknown): Promise<never> =>
      new Promise((resolve) => {
        const id = ++lastId
        waiting.set(id, resolve as (value: unknown) => void)
        if (outgoing.length === 0) {
          setImmediate(() => {
            worker.postMessage(outgoing)
            outgoing = []
          })
        }
        outgoing.push({ id, method, argument })
      })
  const unavailable = (): never => {
    throw new Error('The benchmark does not support this call.')
  }
  const methods = {
    createQueue: call('createQueue'),
    send: call('send'),
    receive: call('receive'),
    settle: call('settle'),
    close: async (): Promise<void> => {
      await call('close')()
      await worker.terminate()
    },
  }
  const backend: unknown = new Proxy(methods, {
    get: (target, key) => Reflect.get(target, key) ?? (key === 'then' ? undefined : unavailable),
  })
  return backend as Backend
}

async function serve(file: string): Promise<void> {
  const backend = await openSqlite({ file })
  const run = (method: Method, argument: never): Promise<unknown> => backend[method](argument)
  let outgoing: Answer[] = []
  const answer = (id: number, value: unknown): void => {
    if (outgoing.length === 0) {
      setImmediate(() => {
        parentPort?.postMessage(outgoing)
        outgoing = []
      })
    }
    outgoing.push({ id, value })
  }
  parentPort?.on('message', (calls: readonly Call[]) => {
    for (const { id, method, argument } of calls) {
      run(method, argument as never).then((value) => answer(id, value))
    }
  })
}

if (!isMainThread && typeof workerData === 'string') await serve(workerData)
