/** A thread with a renewer: keeps leases until it is told to stop, or answers single requests. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Extend, LeaseRenewer, OtherThread } from '../../../src/backends/backend.ts'
import { MillraceError } from '../../../src/core/millrace-error.ts'

/** What the thread and its test agree on. */
export interface RenewerThread {
  readonly otherThread: OtherThread
  /** The first number counts extensions; the second one, once it is not 0, ends the keeping. */
  readonly shared: Int32Array<SharedArrayBuffer>
}

export type RenewerRequest = { readonly keep: Extend } | { readonly extend: Extend }

const { otherThread, shared }: RenewerThread = workerData
const { openRenewer } = await import(otherThread.module)
const renewer: LeaseRenewer = openRenewer(otherThread.options)

parentPort?.on('message', (request: RenewerRequest) => {
  if ('keep' in request) void keep(request.keep)
  else void answerTo(request.extend).then((answer) => parentPort?.postMessage(answer))
})
parentPort?.postMessage('open')

async function keep(request: Extend): Promise<void> {
  while (Atomics.load(shared, 1) === 0) {
    const [result] = await renewer.extend(request)
    if (result?.status === 'extended') Atomics.add(shared, 0, 1)
    Atomics.notify(shared, 0)
    Atomics.wait(shared, 1, 0, 20)
  }
}

async function answerTo(request: Extend): Promise<unknown> {
  try {
    return (await renewer.extend(request)).map(({ status }) => status)
  } catch (error) {
    return error instanceof MillraceError ? error.code : String(error)
  }
}
