/** The worker process of the job benchmarks. */
import { answerRequests } from '../child-process.ts'
import { type BenchMill, enqueueBulk, openBench, processJobs } from './app.ts'

export type WorkerRequest =
  | { readonly kind: 'work'; readonly data: string; readonly concurrency: number }
  /** Enqueues this many jobs, then runs a worker until they are completed; returns jobs per second. */
  | {
      readonly kind: 'process'
      readonly data: string
      readonly count: number
      readonly concurrency: number
      readonly batchSize?: number
    }
  /** The milliseconds from each enqueue to the start of its handler, since the last request. */
  | { readonly kind: 'pickups'; readonly count: number }

const pickups: number[] = []
let whenPicked: (() => void) | undefined
let mill: BenchMill | undefined

answerRequests(async (request: WorkerRequest) => {
  switch (request.kind) {
    case 'work':
      mill = await openBench(request.data)
      mill
        .worker({ poll: ['bench'], concurrency: request.concurrency, handle: { OCR: pickUp } })
        .start()
      return 0
    case 'process':
      mill ??= await openBench(request.data)
      await enqueueBulk(mill, request.count)
      return processJobs(mill, request.count, request.concurrency, request.batchSize)
    case 'pickups':
      while (pickups.length < request.count) {
        await new Promise<void>((resolve) => {
          whenPicked = resolve
        })
      }
      return pickups.splice(0)
  }
})

/** Some payloads begin with the time of their enqueue, by the machine's clock. */
function pickUp(payload: string): void {
  if (payload.startsWith('j')) return
  pickups.push(Number(process.hrtime.bigint() - BigInt(payload.trimEnd())) / 1_000_000)
  whenPicked?.()
}
