/** Long polls that wait: what they cost the server while nothing comes. */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { RawClient } from './raw-client.ts'
import type { BenchServer } from './servers.ts'
import { createQueue } from './steps.ts'
import { jsonRequest } from './wire-client.ts'

export interface ParkedCost {
  /** Part of one core. */
  readonly coreShare: number
  readonly megabytes: number
}

/** A clock tick of the kernel, in which it counts the time of processes. */
const tickMs = 10

export async function parkedCost(
  server: BenchServer,
  { polls, forMs }: { readonly polls: number; readonly forMs: number },
): Promise<ParkedCost> {
  const queue = { server, name: 'parked' }
  await createQueue(queue)
  const before = residentMb(server)
  const client = await RawClient.open(server.port, polls)
  const request = jsonRequest('ReceiveMessage', {
    QueueUrl: `http://127.0.0.1:4566/000000000000/${queue.name}`,
    WaitTimeSeconds: 20,
  })
  let isOver = false
  const done = client.run(() => () => (isOver ? undefined : request))
  // Until all of them wait; what connecting costs is not what waiting costs.
  await pause(2_000)
  const startedCpuMs = cpuMs(server)
  const startedMs = performance.now()
  await pause(forMs)
  const coreShare = (cpuMs(server) - startedCpuMs) / (performance.now() - startedMs)
  const megabytes = residentMb(server) - before
  isOver = true
  client.close()
  await done.catch(() => undefined)
  return { coreShare, megabytes }
}

function cpuMs({ pid }: BenchServer): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

function residentMb({ pid }: BenchServer): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1_024
}
