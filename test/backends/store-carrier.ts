/**
 * A carrier that is another store: everything that the port asks for, in virtual time and without a network. It
 * shows what the composition does; the drivers have their own tests, on real servers.
 */
import type { Backend, Delivery } from '../../src/backends/backend.ts'
import type {
  Carrier,
  CarrierCapabilities,
  CarrierDelivery,
  CarrierLabels,
  CarrierMessage,
} from '../../src/backends/carriers/carrier.ts'
import { limits } from '../../src/core/limits.ts'
import type { NewMessage } from '../../src/core/message.ts'

export const storeCarrierCapabilities: CarrierCapabilities = {
  name: 'store',
  fifo: true,
  peek: true,
  uncountedRelease: true,
  fencedReceipts: true,
  delayMsMax: limits.delayMs.max,
  returnMsMax: limits.visibilityMs.max,
}

const labelsName = 'millrace.labels'

export function storeCarrier(backend: Backend): Carrier {
  return {
    capabilities: storeCarrierCapabilities,
    async ensure({ queue, settings }) {
      const {
        annotations: _,
        ceilings: _c,
        obeys: _o,
        history: _h,
        deadLetter: _d,
        ...rest
      } = settings
      const { type, ...changes } = { ...rest, jobTypes: [] }
      const { queue: record, created } = await backend
        .createQueue({ queue, settings: { type, ...changes } })
        .catch(async () => ({
          queue: await backend.changeQueue({ queue, changes }),
          created: false,
        }))
      return created || record.settings.type === type ? [] : ['The type differs.']
    },
    removeQueue: ({ queue }) => backend.deleteQueue({ queue }),
    purge: ({ queue }) => backend.purgeQueue({ queue }),
    async levels({ queue }) {
      const { ready, leased, delayed } = await backend.queueStatistics({ queue })
      const [oldest] = (await backend.peek({ queue, state: 'ready', limit: 1 })).items
      return { ready, leased, delayed, oldestSentAt: oldest?.sentAt ?? null }
    },
    async send({ queue, messages }) {
      return await backend.send({ queue, messages: messages.map(sentMessage) })
    },
    async receive({ queue, ...request }) {
      return (await backend.receive({ queue, ...request })).map(carrierDelivery)
    },
    async extend({ queue, leases }) {
      const extensions = leases.map(({ handle: receipt, visibilityMs }) => ({
        receipt,
        visibilityMs,
      }))
      const results = await backend.extend({ queue, leases: extensions })
      return results.map(({ status }) => status === 'extended')
    },
    async remove({ queue, messages }) {
      const settlements = messages.map(({ handle: receipt }) => ({
        receipt,
        outcome: { kind: 'acknowledge' } as const,
      }))
      const results = await backend.settle({ queue, settlements })
      return results.map(({ status }) => status === 'settled')
    },
    async release({ queue, messages }) {
      const settlements = messages.map(({ handle: receipt, delayMs, error }) => ({
        receipt,
        outcome:
          error === undefined && delayMs === 0
            ? ({ kind: 'release' } as const)
            : ({ kind: 'retry', delayMs } as const),
      }))
      const results = await backend.settle({ queue, settlements })
      return results.map(({ status }) => status === 'settled')
    },
    async peek(request) {
      const { items, ...page } = await backend.peek(request)
      return { ...page, items: items.map((item) => ({ ...item, ...labelled(item) })) }
    },
    check: () => backend.check(),
    close: () => backend.close(),
  }
}

function sentMessage(message: CarrierMessage): NewMessage {
  const { labels, body, attributes, systemAttributes, delayMs, group, deduplicationId } = message
  return {
    body,
    ...(Object.keys(attributes).length > 0 && { attributes }),
    systemAttributes: {
      ...systemAttributes,
      ...(labels !== null && { [labelsName]: JSON.stringify(labels) }),
    },
    ...(delayMs !== null && { delayMs }),
    ...(group !== null && { group }),
    ...(deduplicationId !== null && { deduplicationId }),
  }
}

interface Labelled {
  readonly labels: CarrierLabels | null
  readonly systemAttributes: Readonly<Record<string, string>>
}

function labelled({ systemAttributes: all }: Pick<Delivery, 'systemAttributes'>): Labelled {
  const { [labelsName]: text, ...systemAttributes } = all
  return { labels: text === undefined ? null : JSON.parse(text), systemAttributes }
}

function carrierDelivery(delivery: Delivery): CarrierDelivery {
  const { labels, systemAttributes } = labelled(delivery)
  const { receipt, id, body, attributes, group, deduplicationId, sentAt, receiveCount } = delivery
  return {
    handle: receipt,
    id,
    labels,
    body,
    attributes,
    systemAttributes,
    group,
    deduplicationId,
    sentAt,
    firstReceivedAt: delivery.firstReceivedAt ?? sentAt,
    receiveCount,
    sequence: delivery.sequence,
    jobType: null,
  }
}
