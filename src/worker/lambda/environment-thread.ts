/**
 * The program of an execution environment's thread: loads the handler, then runs one invocation after the
 * other. What would end the process on Lambda ends this thread, after it has reported the reason.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { type LambdaError, lambdaErrorOf } from './lambda-error.ts'
import { runInvocation } from './thread-invocation.ts'
import {
  type Handler,
  LoadFailure,
  loadHandler,
  newModules,
  recordModules,
} from './thread-modules.ts'
import { catchOutput } from './thread-output.ts'
import type { InvokeMessage, ThreadData, ThreadMessage } from './thread-protocol.ts'

const data: ThreadData = workerData
if (parentPort === null) throw new Error('This file must be run as a worker thread.')
const port = parentPort

catchOutput((level, text) => tell({ kind: 'output', level, text }))
process.on('uncaughtException', (error) => die(lambdaErrorOf(error)))
process.on('unhandledRejection', (reason) =>
  die(lambdaErrorOf(reason, 'Runtime.UnhandledPromiseRejection')),
)
recordModules()
void start()

async function start(): Promise<void> {
  const handler = await loaded()
  tellFiles()
  tell({ kind: 'ready' })
  port.on('message', (message: InvokeMessage) => void invoke(handler, message))
}

async function loaded(): Promise<Handler> {
  try {
    return await loadHandler(data)
  } catch (error) {
    return die(error instanceof LoadFailure ? error.reported : lambdaErrorOf(error))
  }
}

async function invoke(handler: Handler, message: InvokeMessage): Promise<void> {
  const ending = await runInvocation(port, data, handler, message)
  tellFiles()
  const memoryBytes = usedBytes()
  tell(
    'response' in ending
      ? { kind: 'responded', response: ending.response, memoryBytes }
      : { kind: 'failed', error: ending.error, isFatal: false, memoryBytes },
  )
}

function die(error: LambdaError): never {
  tellFiles()
  tell({ kind: 'failed', error, isFatal: true, memoryBytes: usedBytes() })
  process.exit(1)
}

function tellFiles(): void {
  const files = newModules()
  if (files.length > 0) tell({ kind: 'files', files })
}

/** The memory of this thread. The rest of the process is shared with other threads. */
function usedBytes(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function tell(message: ThreadMessage): void {
  port.postMessage(message)
}
