import type { ChildMessage } from '../support/child-program.ts'

/** What a process with Postgres and PgBouncer tells its parent. */
export interface ServersReport extends ChildMessage {
  readonly kind: 'started'
  readonly postgresUrl: string
  readonly pgbouncerUrl: string
}

/** What a process with a Redis server tells its parent. */
export interface RedisReport extends ChildMessage {
  readonly kind: 'redis started'
  readonly redisUrl: string
}
