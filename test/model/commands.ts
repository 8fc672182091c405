/**
 * Random commands. A command is plain data and means something in every state (indexes are taken
 * modulo what there is), so that fast-check can drop and shrink commands freely.
 */
import fc from 'fast-check'
import type { NewMessage, Outcome, QueueSettings } from '../../src/backends/backend.ts'

/** Two standard queues and two FIFO queues; the second of each pair starts as dead-letter queue. */
export const queueNames = ['a', 'b', 'f.fifo', 'g.fifo'] as const
export type QueueSlot = (typeof queueNames)[number] | 'missing'

export type Command =
  | SingleCommand
  /** Called without waiting in between: they may share a commit, and still have an order. */
  | { readonly kind: 'together'; readonly commands: readonly SingleCommand[] }

export type SingleCommand =
  | { readonly kind: 'create'; readonly queue: QueueSlot; readonly settings: Settings }
  | { readonly kind: 'change'; readonly queue: QueueSlot; readonly settings: Settings }
  | { readonly kind: 'delete' | 'purge'; readonly queue: QueueSlot }
  | {
      readonly kind: 'send'
      readonly queue: QueueSlot
      readonly messages: readonly MessageDraft[]
      readonly allOrNothing: boolean
    }
  | {
      readonly kind: 'receive'
      readonly queue: QueueSlot
      readonly max: number
      readonly visibilityMs: number | undefined
      readonly attemptId: string | undefined
    }
  | { readonly kind: 'extend'; readonly leases: readonly LeaseDraft[]; readonly foreign: boolean }
  | { readonly kind: 'settle'; readonly settlements: readonly SettlementDraft[] }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'jumpBack' | 'jumpAhead' | 'sweep' | 'reopen' | 'cancelMove' }
  | {
      readonly kind: 'startMove'
      readonly source: QueueSlot
      readonly destination: QueueSlot | undefined
      readonly movesPerSecond: number | undefined
    }
  | { readonly kind: 'peek'; readonly queue: QueueSlot }

export type Settings = Partial<Omit<QueueSettings, 'type'>>

export interface MessageDraft {
  readonly body: string
  readonly group: string
  readonly deduplicationId: string
  readonly delayMs: number | undefined
  /** When it is due, instead of how long it waits. */
  readonly byTime?: boolean
  readonly flaw: 'none' | 'tooLarge' | 'character' | 'noGroup' | 'noId'
}

export interface LeaseDraft {
  /** Counts from the latest delivery backwards. */
  readonly receipt: number
  readonly visibilityMs: number
  readonly anyLease: boolean
}

export interface SettlementDraft {
  readonly receipt: number
  readonly outcome: Outcome
  readonly emits: readonly { readonly queue: QueueSlot; readonly message: MessageDraft }[]
}

const second = 1_000
const minute = 60 * second

const slot = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom<QueueSlot[]>('a', 'f.fifo') },
  { weight: 20, arbitrary: fc.constantFrom<QueueSlot[]>('b', 'g.fifo') },
  { weight: 1, arbitrary: fc.constant<QueueSlot>('missing') },
)

const settings: fc.Arbitrary<Settings> = fc
  .record(
    {
      visibilityMs: fc.constantFrom(3 * second, 10 * second),
      delayMs: fc.constantFrom(0, 0, 2 * second),
      retentionMs: fc.constantFrom(minute, 10 * minute, 60 * minute),
      deadLetter: fc.oneof(
        fc.constant(null),
        fc.record({
          queue: fc.constantFrom(...queueNames),
          maxReceives: fc.constantFrom(1, 2, 3),
        }),
      ),
      deduplicateByContent: fc.boolean(),
      deduplicationScope: fc.constantFrom('queue' as const, 'group' as const),
    },
    { requiredKeys: [] },
  )
  .map((given) => ({ ...given }))

export const message: fc.Arbitrary<MessageDraft> = fc.record({
  body: fc.constantFrom('x', 'y', 'z'),
  group: fc.constantFrom('g1', 'g1', 'g2', 'g3'),
  deduplicationId: fc.constantFrom('d1', 'd2', 'd3', 'd4', 'd5', 'd6', 'd7', 'd8'),
  delayMs: fc.constantFrom(
    ...[undefined, undefined, undefined, undefined, 0, second, 5 * second, 16 * minute],
  ),
  byTime: fc.constantFrom(false, false, false, true),
  flaw: fc.constantFrom(
    ...Array.from({ length: 20 }, () => 'none' as const),
    ...(['tooLarge', 'character', 'noGroup', 'noId'] as const),
  ),
})

const receipt = fc.oneof({ weight: 6, arbitrary: fc.nat(3) }, { weight: 2, arbitrary: fc.nat(30) })

export const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'acknowledge' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'acknowledge', anyLease: true } as const) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('retry' as const),
      delayMs: fc.constantFrom(0, 0, 2 * second, 20 * second),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'release' } as const) },
  { weight: 2, arbitrary: fc.constant({ kind: 'deadLetter', reason: 'random' } as const) },
)

export const settlement: fc.Arbitrary<SettlementDraft> = fc.record({
  receipt,
  outcome,
  emits: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(fc.record({ queue: slot, message }), { maxLength: 2 }) },
  ),
})

const lease: fc.Arbitrary<LeaseDraft> = fc.record({
  receipt,
  visibilityMs: fc.constantFrom(0, 3 * second, 20 * second, 90 * second, 12 * 60 * minute),
  anyLease: fc.boolean(),
})

const attemptId = fc.constantFrom(undefined, undefined, undefined, 'x', 'y')

export const single: fc.Arbitrary<SingleCommand> = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      queue: slot,
      messages: fc.array(message, { minLength: 1, maxLength: 4 }),
      allOrNothing: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 26,
    arbitrary: fc.record({
      kind: fc.constant('receive' as const),
      queue: slot,
      max: fc.integer({ min: 1, max: 4 }),
      visibilityMs: fc.constantFrom(undefined, undefined, 0, 2 * second, 10 * second, 90 * second),
      attemptId,
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('extend' as const),
      leases: fc.array(lease, { minLength: 1, maxLength: 3 }),
      foreign: fc.constantFrom(false, false, false, false, true),
    }),
  },
  {
    weight: 22,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      settlements: fc.array(settlement, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 20,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      ms: fc.oneof(
        {
          weight: 5,
          arbitrary: fc.constantFrom(1, 500, second, 2 * second, 3 * second, 11 * second),
        },
        { weight: 1, arbitrary: fc.constantFrom(minute, 5 * minute, 16 * minute) },
      ),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'jumpBack' } as const) },
  { weight: 2, arbitrary: fc.constant({ kind: 'jumpAhead' } as const) },
  { weight: 8, arbitrary: fc.constant({ kind: 'sweep' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' } as const) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('startMove' as const),
      source: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom<QueueSlot[]>('b', 'g.fifo') },
        { weight: 1, arbitrary: slot },
      ),
      destination: fc.option(slot, { nil: undefined, freq: 1 }),
      movesPerSecond: fc.constantFrom(undefined, 1, 2),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'cancelMove' } as const) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('peek' as const), queue: slot }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('change' as const), queue: slot, settings }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('create' as const), queue: slot, settings }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), queue: slot }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('purge' as const), queue: slot }) },
)

export const together: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant('together' as const),
  commands: fc.array(single.filter(canBeShared), { minLength: 2, maxLength: 5 }),
})

/** Time and the store itself belong to nobody, so these are never called at once with others. */
function canBeShared({ kind }: SingleCommand): boolean {
  return ![
    'advance',
    'jumpBack',
    'jumpAhead',
    'sweep',
    'reopen',
    'peek',
    'startMove',
    'cancelMove',
  ].includes(kind)
}

/** What a draft means on a queue of this type. */
export function newMessage(draft: MessageDraft, isFifo: boolean, now: number): NewMessage {
  const { flaw, delayMs, byTime = false } = draft
  const flawed = { tooLarge: 'x'.repeat(2_000), character: 'x\u0000', none: draft.body }
  const body = flaw === 'noGroup' || flaw === 'noId' ? draft.body : flawed[flaw]
  // On a standard queue a group is a tenant, of whom the store counts what is in flight.
  const hasGroup = isFifo ? flaw !== 'noGroup' : draft.group !== 'g1'
  const group = hasGroup && { group: draft.group }
  if (!isFifo) return { body, ...group, ...dueIn(delayMs, byTime ? now : undefined) }
  return {
    body,
    ...group,
    ...(flaw !== 'noId' && { deduplicationId: draft.deduplicationId }),
  }
}

function dueIn(delayMs: number | undefined, now?: number): Partial<NewMessage> {
  if (delayMs === undefined) return {}
  return now === undefined ? { delayMs } : { runAt: now + delayMs }
}
