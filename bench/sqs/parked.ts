/** Waiting long polls: what they cost the server while nothing arrives. */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { RawClient } from './raw-client.ts'
import type { BenchServer } from './servers.ts'
import { createQueue } from './steps.ts'
import { jsonRequest, type WireRequest } from './wire-client.ts'

export interface ParkedCost {
  /** As a share of one core. */
  readonly coreShare: number
  readonly megabytes: number
}

const waitSeconds = 20
const warmUpMs = 3_000

/** The kernel counts CPU time in ticks of this length. */
const tickMs = 10

export async function parkedCost(
  server: BenchServer,
  { polls, forMs }: { readonly polls: number; readonly forMs: number },
): Promise<ParkedCost> {
  const queue = { server, name: 'parked' }
  await createQueue(queue)
  const poll = (seconds: number): WireRequest =>
    jsonRequest('ReceiveMessage', {
      QueueUrl: `http://127.0.0.1:4566/000000000000/${queue.name}`,
      WaitTimeSeconds: seconds,
    })
  await warmUp(server, poll(0))
  const before = residentMb(server)
  const patiently = poll(waitSeconds)
  const clients: RawClient[] = []
  // Spread over the length of one poll, as with many independent clients.
  for (let second = 0; second < waitSeconds; second += 1) {
    const client = await RawClient.open(server.port, polls / waitSeconds)
    clients.push(client)
    // Not awaited: closing the client ends it.
    void client.run(() => () => patiently)
    await pause(1_000)
  }
  // The first round is a warm-up for the runtime.
  await pause(waitSeconds * 1_000)
  const startedCpuMs = cpuMs(server)
  const startedMs = performance.now()
  await pause(forMs)
  const coreShare = (cpuMs(server) - startedCpuMs) / (performance.now() - startedMs)
  const megabytes = residentMb(server) - before
  for (const client of clients) client.close()
  return { coreShare, megabytes }
}

/** Waits until the server's CPU use is stable. */
async function warmUp({ port }: BenchServer, request: WireRequest): Promise<void> {
  const client = await RawClient.open(port, 16)
  const endMs = performance.now() + warmUpMs
  await client.run(() => () => (performance.now() < endMs ? request : undefined))
  client.close()
}

function cpuMs({ pid }: BenchServer): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

function residentMb({ pid }: BenchServer): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1_024
}
