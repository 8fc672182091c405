/** Opens BullMQ on a Redis server as a carrier. It loads the packages, so it is imported when it is needed. */
import { RedisConnection } from 'bullmq'
import { MillraceError } from '../../../core/millrace-error.ts'
import { type Ports, systemPorts } from '../../../core/ports.ts'
import type { Carrier, CarrierOpening } from '../carrier.ts'
import type { RedisAddress } from './any-redis.ts'
import { BullmqCarrier } from './bullmq-carrier.ts'
import { checkRedis } from './check-redis.ts'
import { CommandBatch } from './command-batch.ts'
import { Connections } from './connections.ts'
import type { ResolvedOptions } from './options.ts'
import { redisError } from './redis-error.ts'
import { type DefinedScripts, purgeActive, substitutes } from './scripts.ts'

export interface BullmqOpening extends CarrierOpening {
  readonly address: RedisAddress
  /** Names the server for people, without secrets. */
  readonly place: string
  readonly options: ResolvedOptions
  readonly ports?: Ports
}

export async function openBullmq({
  address,
  place,
  options,
  onNotice,
  now,
  ports = systemPorts,
}: BullmqOpening): Promise<Carrier> {
  const connections = new Connections({ address, place, onNotice })
  const { main } = connections
  const check = (): Promise<readonly string[]> =>
    checkRedis({ client: main, prefix: options.prefix, place })
  try {
    await connections.connect()
    for (const notice of await check()) onNotice(notice)
    // The check above is stricter than that of BullMQ, which writes to the console.
    const connection = new RedisConnection(main, {
      shared: true,
      blocking: false,
      skipVersionCheck: true,
    })
    // It repeats the errors of the client as its own.
    connection.on('error', () => {})
    const client = await connection.client
    const { scriptsSet } = main as unknown as { readonly scriptsSet: DefinedScripts }
    for (const { name, keys, lua } of [purgeActive, ...substitutes(scriptsSet)]) {
      main.defineCommand(name, { numberOfKeys: keys, lua })
    }
    const reset = (): void => connections.reset(main)
    return new BullmqCarrier({
      connections,
      connection,
      batch: new CommandBatch({ client, place, timers: ports.timers, reset }),
      place,
      options,
      check,
      now,
      ports,
    })
  } catch (error) {
    await connections.close()
    if (error instanceof TypeError) throw unknownVersion(error)
    throw redisError(error, place)
  }
}

/** A part of BullMQ that is used here is not there. */
function unknownVersion(cause: TypeError): MillraceError {
  const message =
    'The installed version of bullmq is not one that this carrier knows: npm install bullmq@6'
  return new MillraceError('carrier_unusable', { message, cause })
}
