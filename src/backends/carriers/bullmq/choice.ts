/**
 * BullMQ as a carrier: checks what was given, and loads the driver when the carrier is opened, so that a program
 * can name the carrier without having the packages.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { CarrierChoice } from '../carrier.ts'
import { type AnyRedis, type AnyRedisOptions, addressOf, placeOf } from './any-redis.ts'
import { bullmqCapabilities } from './capabilities.ts'
import { type BullmqOptions, resolveOptions } from './options.ts'

/**
 * @param connection a URL, such as `redis://user:password@host:6379/0`, an instance of `Redis` of the package
 *   `ioredis`, or its options
 */
export function bullmq(
  connection: string | AnyRedis | AnyRedisOptions,
  options: BullmqOptions = {},
): CarrierChoice {
  const resolved = resolveOptions(options)
  const address = addressOf(connection)
  const place = `${placeOf(address)}, prefix ${resolved.prefix}`
  return {
    name: 'bullmq',
    place,
    capabilities: bullmqCapabilities,
    async open(opening) {
      const { openBullmq } = await loaded()
      return openBullmq({ ...opening, address, place, options: resolved })
    },
  }
}

async function loaded(): Promise<typeof import('./index.ts')> {
  // Looked for first, so that no other failure is taken for a missing package.
  await import('ioredis').catch((cause: unknown) => {
    throw missing('ioredis', cause)
  })
  await import('bullmq').catch((cause: unknown) => {
    throw missing('bullmq', cause)
  })
  return import('./index.ts')
}

function missing(name: string, cause: unknown): MillraceError {
  const message = `The carrier BullMQ needs the package ${name}, which cannot be loaded. Install both: npm install bullmq ioredis`
  return new MillraceError('carrier_unusable', { message, cause })
}
