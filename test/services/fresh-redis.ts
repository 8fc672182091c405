/** A part of the Redis server that all tests of a run share: its keys begin with a prefix that no other test has. */
import { randomUUID } from 'node:crypto'
import { inject } from 'vitest'
import type { SharedRedis } from './global-setup.ts'

export interface FreshRedis {
  readonly url: string
  /** The option `prefix` of BullMQ. */
  readonly prefix: string
}

/** The keys stay until the server ends with the run. */
export async function freshRedis(): Promise<FreshRedis> {
  shared ??= requestRedis()
  const { redisUrl: url } = await shared
  return { url, prefix: `test-${randomUUID()}` }
}

let shared: Promise<SharedRedis> | undefined

async function requestRedis(): Promise<SharedRedis> {
  const response = await fetch(new URL('redis', inject('servicesUrl')))
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as SharedRedis
}
