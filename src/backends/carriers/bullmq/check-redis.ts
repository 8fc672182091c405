/** Whether a Redis server can carry queues: it is new enough, can be written, and allows what BullMQ needs. */
import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { MillraceError } from '../../../core/millrace-error.ts'
import { redisError } from './redis-error.ts'

export interface CheckedRedis {
  readonly client: Redis
  readonly prefix: string
  readonly place: string
}

/** BZPOPMIN, by which BullMQ waits, is as old as this. */
const oldestMajor = 5

const probe = "return redis.call('SET', KEYS[1], '1', 'PX', 1)"
const probeSha = createHash('sha1').update(probe).digest('hex')

/** Returns what the user should know; rejects with the reason if the server cannot be used. */
export async function checkRedis({
  client,
  prefix,
  place,
}: CheckedRedis): Promise<readonly string[]> {
  const key = `${prefix}:millrace-check`
  const replies = await client
    .pipeline()
    .info()
    .eval(probe, 1, key)
    .evalsha(probeSha, 1, key)
    .bzpopmin(`${key}-marker`, 0.01)
    .exec()
    .catch((error: unknown) => {
      throw redisError(error, place)
    })
  const [[infoError, info] = [null, ''], ...others] = replies ?? []
  if (infoError) throw redisError(infoError, place)
  const facts = factsIn(String(info))
  const unusable = (reason: string): MillraceError =>
    new MillraceError('carrier_unusable', {
      message: `BullMQ cannot use Redis at ${place}: ${reason}`,
    })
  if (facts.get('role') === 'slave') throw unusable('it is a read-only replica. Name its primary.')
  if (facts.get('cluster_enabled') === '1') throw unusable('it is a node of a Redis Cluster.')
  const version = facts.get('redis_version') ?? ''
  if (Number.parseInt(version, 10) < oldestMajor) {
    throw unusable(`its version is ${version}, and BullMQ needs ${oldestMajor} or newer.`)
  }
  for (const [error] of others) if (error) throw redisError(error, place)
  const policy = facts.get('maxmemory_policy') ?? 'noeviction'
  if (policy === 'noeviction') return []
  return [
    `Redis at ${place} removes keys when its memory is full (maxmemory-policy ${policy}), so jobs can be lost: set maxmemory-policy noeviction.`,
  ]
}

function factsIn(info: string): ReadonlyMap<string, string> {
  const lines = info.split(/\r?\n/).map((line) => line.split(':'))
  return new Map(lines.map(([name = '', ...rest]) => [name, rest.join(':')]))
}
