/**
 * Stories: several commands that belong together, so that what is rare among single commands is told
 * often enough to be tested. Random commands are made of these and of single ones.
 */
import fc from 'fast-check'
import {
  type Command,
  message,
  outcome,
  type QueueSlot,
  type Settings,
  settlement,
  single,
  together,
} from './commands.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

const anyAttemptId = fc.constantFrom(undefined, 'x', 'y')

/**
 * Somebody receives, hands back or loses the lease, somebody else receives, and the first one comes
 * again with what it remembers: the story in which fences matter, told often enough to be tested.
 */
const handover: fc.Arbitrary<readonly Command[]> = fc
  .record({
    queue: fc.constantFrom<QueueSlot[]>('a', 'f.fifo', 'g.fifo'),
    visibilityMs: fc.constantFrom(2 * second, 10 * second),
    handBack: fc.oneof(
      fc.record({
        kind: fc.constant('settle' as const),
        settlements: fc.tuple(
          fc.record({ receipt: fc.constant(0), outcome, emits: fc.constant([]) }),
        ),
      }),
      fc.record({
        kind: fc.constant('advance' as const),
        ms: fc.constantFrom(2 * second, 11 * second),
      }),
    ),
    attempts: fc.tuple(anyAttemptId, anyAttemptId, anyAttemptId),
  })
  .map(({ queue, visibilityMs, handBack, attempts }) => {
    const [first, next, last] = attempts.map(
      (id): Command => ({ kind: 'receive', queue, max: 1, visibilityMs, attemptId: id }),
    )
    return [first, handBack, next, last].filter((part) => part !== undefined)
  })

/** Messages use up their receives, so that dead letters are not rare. */
const wearOut: fc.Arbitrary<readonly Command[]> = fc
  .record({
    queue: fc.constantFrom<QueueSlot[]>('a', 'f.fifo'),
    max: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ queue, max }) => {
    const receive: Command = {
      kind: 'receive',
      queue,
      max,
      visibilityMs: 2 * second,
      attemptId: undefined,
    }
    const lapse: Command = { kind: 'advance', ms: 2 * second }
    return [receive, lapse, receive, lapse, receive]
  })

/**
 * Two groups whose messages come back, become ready late and expire, all within seconds: whose turn it
 * is then must not depend on when the engine looked.
 */
const outlive: fc.Arbitrary<readonly Command[]> = fc
  .record({
    age: fc.constantFrom(55 * second, 57 * second, 58 * second),
    steps: fc.array(
      fc.oneof(
        fc.record({
          kind: fc.constant('send' as const),
          queue: fc.constant('f.fifo' as const),
          messages: fc.tuple(message),
          allOrNothing: fc.constant(false),
        }),
        fc.record({
          kind: fc.constant('receive' as const),
          queue: fc.constant('f.fifo' as const),
          max: fc.constantFrom(1, 2),
          visibilityMs: fc.constantFrom(0, second, 2 * second, 90 * second),
          attemptId: fc.constant(undefined),
        }),
        fc.record({
          kind: fc.constant('advance' as const),
          ms: fc.constantFrom(1, 500, second, 2 * second),
        }),
        fc.record({
          kind: fc.constant('change' as const),
          queue: fc.constant('f.fifo' as const),
          settings: fc.record(
            {
              delayMs: fc.constantFrom(0, 2 * second),
              retentionMs: fc.constantFrom(minute, 10 * minute),
            },
            { requiredKeys: [] },
          ),
        }),
      ),
      { minLength: 4, maxLength: 10 },
    ),
  })
  .map(({ age, steps }) => {
    const [first, ...rest] = steps
    const settings = { retentionMs: minute, delayMs: 0, deadLetter: null }
    const begin: Command[] = [{ kind: 'change', queue: 'f.fifo', settings }]
    if (first !== undefined) begin.push(first)
    return [...begin, { kind: 'advance', ms: age }, ...rest]
  })

/** What may happen while a receive attempt is remembered, and what it leads to. */
const anyAdvance: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant('advance' as const),
  ms: fc.constantFrom(1, 500, second, 2 * second, 3 * second, 59 * second, minute),
})

function anyReceive(
  queues: readonly QueueSlot[],
  attempts: readonly string[] = [],
): fc.Arbitrary<Command> {
  return fc.record({
    kind: fc.constant('receive' as const),
    queue: fc.constantFrom(...queues),
    max: fc.constantFrom(1, 2, 4),
    visibilityMs: fc.constantFrom(undefined, 0, second, 2 * second, 90 * second),
    attemptId: fc.constantFrom(undefined, ...attempts),
  })
}

function anySend(queues: readonly QueueSlot[]): fc.Arbitrary<Command> {
  return fc.record({
    kind: fc.constant('send' as const),
    queue: fc.constantFrom(...queues),
    messages: fc.array(message, { minLength: 1, maxLength: 2 }),
    allOrNothing: fc.constant(false),
  })
}

function anyChange(
  queues: readonly QueueSlot[],
  changes: { readonly [K in keyof Settings]?: fc.Arbitrary<NonNullable<Settings[K]>> },
): fc.Arbitrary<Command> {
  return fc.record({
    kind: fc.constant('change' as const),
    queue: fc.constantFrom(...queues),
    settings: fc.record(changes, { requiredKeys: [] }),
  })
}

const anySettlement: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant('settle' as const),
  settlements: fc.tuple(settlement),
})

const retention = { retentionMs: fc.constantFrom(minute, 10 * minute) }

function story(
  begin: readonly Command[],
  ...steps: readonly fc.WeightedArbitrary<Command>[]
): fc.Arbitrary<readonly Command[]> {
  return fc
    .array(fc.oneof(...steps), { minLength: 4, maxLength: 14, size: 'max' })
    .map((rest) => [...begin, ...rest])
}

const forAMinute = { retentionMs: minute }

/** Receive attempts that are repeated while leases lapse, retention ends and the queue is purged. */
const askAgain: fc.Arbitrary<readonly Command[]> = story(
  [{ kind: 'change', queue: 'f.fifo', settings: forAMinute }],
  { weight: 3, arbitrary: anySend(['f.fifo']) },
  { weight: 6, arbitrary: anyReceive(['f.fifo'], ['x', 'x', 'y']) },
  { weight: 4, arbitrary: anyAdvance },
  { weight: 1, arbitrary: anyChange(['f.fifo'], retention) },
  { weight: 1, arbitrary: anySettlement },
  { weight: 1, arbitrary: fc.constant({ kind: 'purge', queue: 'f.fifo' }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'sweep' }) },
)

/** Slow move tasks, while what they move expires, is received, and their queues come and go. */
const moveSlowly: fc.Arbitrary<readonly Command[]> = fc
  .constantFrom(['a', 'b'] as const, ['f.fifo', 'g.fifo'] as const)
  .chain(([queue, dead]) =>
    story(
      [
        { kind: 'change', queue, settings: { deadLetter: { queue: dead, maxReceives: 1 } } },
        { kind: 'change', queue: dead, settings: forAMinute },
      ],
      { weight: 3, arbitrary: anySend([queue]) },
      { weight: 4, arbitrary: anyReceive([queue, queue, dead]) },
      { weight: 4, arbitrary: anyAdvance },
      { weight: 2, arbitrary: anyChange([queue, dead], retention) },
      { weight: 2, arbitrary: anySettlement },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('startMove' as const),
          source: fc.constant(dead),
          destination: fc.constantFrom(undefined, undefined, queue),
          movesPerSecond: fc.constantFrom(undefined, 1),
        }),
      },
      { weight: 3, arbitrary: fc.constant({ kind: 'sweep' }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'cancelMove' }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'purge', queue: dead }) },
    ),
  )

/** The place of dead letters is deleted and created again, while others use it up to die. */
const loseDeadLetters: fc.Arbitrary<readonly Command[]> = fc
  .constantFrom(['a', 'b'] as const, ['f.fifo', 'g.fifo'] as const)
  .chain(([queue, dead]) =>
    story(
      [{ kind: 'change', queue, settings: { deadLetter: { queue: dead, maxReceives: 1 } } }],
      { weight: 4, arbitrary: anySend([queue, dead]) },
      { weight: 6, arbitrary: anyReceive([queue, queue, dead]) },
      { weight: 3, arbitrary: anySettlement },
      { weight: 3, arbitrary: anyAdvance },
      { weight: 2, arbitrary: fc.constant({ kind: 'delete', queue: dead }) },
      { weight: 2, arbitrary: fc.constant({ kind: 'create', queue: dead, settings: forAMinute }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'delete', queue }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'create', queue, settings: forAMinute }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'sweep' }) },
    ),
  )

/** Leases that are moved at their very end, up to the longest there may be, through purges. */
const holdOn: fc.Arbitrary<readonly Command[]> = fc
  .constantFrom<QueueSlot[]>('a', 'f.fifo')
  .chain((queue) =>
    story(
      [{ kind: 'change', queue, settings: { retentionMs: 24 * hour, deadLetter: null } }],
      { weight: 3, arbitrary: anySend([queue]) },
      { weight: 4, arbitrary: anyReceive([queue]) },
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant('extend' as const),
          leases: fc.tuple(
            fc.record({
              receipt: fc.constantFrom(0, 0, 1, 2),
              visibilityMs: fc.constantFrom(0, 1, second, 12 * hour - 1, 12 * hour),
              anyLease: fc.boolean(),
            }),
          ),
          foreign: fc.constant(false),
        }),
      },
      {
        weight: 5,
        arbitrary: fc.record({
          kind: fc.constant('advance' as const),
          ms: fc.constantFrom(1, second - 1, second, 2 * second, 12 * hour - 1),
        }),
      },
      { weight: 2, arbitrary: anySettlement },
      {
        weight: 1,
        arbitrary: anyChange([queue], { retentionMs: fc.constantFrom(minute, 24 * hour) }),
      },
      { weight: 1, arbitrary: fc.constant({ kind: 'purge', queue }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'peek', queue }) },
    ),
  )

/** Messages wait for their delay while delay and retention change. */
const waitLonger: fc.Arbitrary<readonly Command[]> = fc
  .constantFrom<QueueSlot[]>('a', 'f.fifo')
  .chain((queue) =>
    story(
      [{ kind: 'change', queue, settings: { ...forAMinute, delayMs: 2 * second } }],
      { weight: 5, arbitrary: anySend([queue]) },
      { weight: 4, arbitrary: anyReceive([queue]) },
      { weight: 5, arbitrary: anyAdvance },
      {
        weight: 3,
        arbitrary: anyChange([queue], {
          ...retention,
          delayMs: fc.constantFrom(0, second, 15 * minute),
        }),
      },
      { weight: 1, arbitrary: fc.constant({ kind: 'sweep' }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'peek', queue }) },
    ),
  )

/** Messages with long delays lie among others, and die, while the retention changes. */
const waitForLong: fc.Arbitrary<readonly Command[]> = story(
  [{ kind: 'change', queue: 'a', settings: { ...forAMinute, delayMs: 0 } }],
  { weight: 8, arbitrary: anySend(['a', 'b']) },
  { weight: 4, arbitrary: anyReceive(['a', 'b']) },
  { weight: 2, arbitrary: anySettlement },
  { weight: 3, arbitrary: anyAdvance },
  {
    weight: 3,
    arbitrary: fc.constantFrom(15 * minute, 16 * minute, 30 * minute).map((ms) => ({
      ...{ kind: 'advance', ms },
    })),
  },
  { weight: 2, arbitrary: anyChange(['a', 'b'], retention) },
  { weight: 1, arbitrary: fc.constant({ kind: 'sweep' }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'peek', queue: 'a' }) },
)

/** By how often they are told. */
export const stories: readonly fc.WeightedArbitrary<readonly Command[]>[] = [
  { weight: 4, arbitrary: handover },
  { weight: 2, arbitrary: wearOut },
  { weight: 2, arbitrary: outlive },
  { weight: 1, arbitrary: askAgain },
  { weight: 1, arbitrary: moveSlowly },
  { weight: 1, arbitrary: loseDeadLetters },
  { weight: 1, arbitrary: holdOn },
  { weight: 1, arbitrary: waitLonger },
  { weight: 2, arbitrary: waitForLong },
]

const commandsMax = 40

export const commands: fc.Arbitrary<readonly Command[]> = fc
  .array(
    fc.oneof(
      { weight: 60, arbitrary: single.map((one): readonly Command[] => [one]) },
      { weight: 6, arbitrary: together.map((several): readonly Command[] => [several]) },
      ...stories,
    ),
    { minLength: 5, maxLength: commandsMax, size: 'max' },
  )
  .map((parts) => parts.flat())
