/** Puts a carrier next to a store. */
import type { Backend } from '../backends/backend.ts'
import { carriedBackend } from '../backends/carriers/carried-backend.ts'
import type { CarrierChoice } from '../backends/carriers/carrier.ts'
import { checkedBackend } from '../backends/checked-backend.ts'
import { describeGiven } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Ports } from '../core/ports.ts'

export interface CarriedOpening {
  readonly store: Backend
  readonly carrier: CarrierChoice
  readonly ports: Ports
  /** Called with what the user should know about the carrier. */
  readonly onNotice: (text: string, error?: unknown) => void
}

/** Closes the store if the carrier cannot be used. */
export async function openCarried({
  store,
  carrier: choice,
  ports,
  onNotice,
}: CarriedOpening): Promise<Backend> {
  try {
    requireCarrier(choice)
    const { clock, timers } = ports
    const carrier = await choice.open({ onNotice, now: () => clock.now(), timers })
    const carriers = new Map([[choice.name, carrier]])
    const options = { store, carriers, byDefault: choice.name, ports, onNotice }
    return checkedBackend(carriedBackend(options))
  } catch (error) {
    await store.close()
    throw error
  }
}

function requireCarrier(choice: unknown): void {
  const { open }: { readonly open?: unknown } = Object(choice)
  if (typeof open === 'function') return
  const allowed = 'a carrier, such as sqs() or bullmq(url)'
  throw MillraceError.invalid([{ field: 'carrier', given: describeGiven(choice), allowed }])
}
