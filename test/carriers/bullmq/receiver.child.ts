/** Receives two messages from BullMQ and waits to be killed. */

import type { CarrierDelivery } from '../../../src/backends/carriers/carrier.ts'
import { bullmq } from '../../../src/bullmq.ts'
import { systemPorts } from '../../../src/core/ports.ts'
import {
  type ChildMessage,
  childArgument,
  fromParent,
  tellParent,
} from '../../support/child-program.ts'

export interface LeasedReport extends ChildMessage {
  readonly kind: 'leased'
  readonly bodies: readonly string[]
}

const { url, prefix } = childArgument<{ readonly url: string; readonly prefix: string }>()
const carrier = await bullmq(url, { prefix, stalledInterval: 100 }).open({
  onNotice: () => {},
  now: () => Date.now(),
  timers: systemPorts.timers,
})
const request = { queue: 'orders', max: 10, visibilityMs: 500, waitMs: 20_000 }
const deliveries: CarrierDelivery[] = []
while (deliveries.length < 2) deliveries.push(...(await carrier.receive(request)))
tellParent<LeasedReport>({ kind: 'leased', bodies: deliveries.map(({ body }) => body) })
await fromParent('stop')
