/**
 * `millrace/bullmq`: queues of BullMQ on Redis as a carrier. It needs the packages `bullmq` and `ioredis`.
 */
import './app/require-node.ts'

export type { AnyRedis, AnyRedisOptions } from './backends/carriers/bullmq/any-redis.ts'
export { bullmq } from './backends/carriers/bullmq/choice.ts'
export type { BullmqLimiter, BullmqOptions, KeptJobs } from './backends/carriers/bullmq/options.ts'
export type { CarrierChoice } from './backends/carriers/carrier.ts'
