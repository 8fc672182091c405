/** Starts a Redis server and waits to be killed. */
import { childArgument, fromParent, tellParent } from '../support/child-program.ts'
import { startRedisServer } from './redis-server.ts'
import type { RedisReport } from './servers.ts'

childArgument()
const redis = await startRedisServer()
tellParent<RedisReport>({ kind: 'redis started', redisUrl: redis.url })
await fromParent('stop')
