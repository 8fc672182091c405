/**
 * Takes random steps over schedules, with crashes and two processes that tick, and holds the engine against
 * the plain model after each: every tick is sent once, by the definition that counts, and none is lost.
 */
import assert from 'node:assert/strict'
import type {
  ScheduleRecord,
  ScheduleStore,
  SetSchedule,
} from '../../src/backends/schedule-store.ts'
import type { Randomness } from '../../src/core/ports.ts'
import { Chances } from './chances.ts'
import type { Faults, Tried } from './commit-faults.ts'
import type { Engine } from './engine-run.ts'
import {
  bodyOf,
  type ModelRule,
  type ModelSchedule,
  type ModelTick,
  nextAfter,
  ScheduleModel,
  textOf,
} from './schedule-model.ts'

const queue = 'ticks'
const second = 1_000
const abandonedAfterMs = 60 * second
const targets = ['q', 'r'] as const
const definitions = ['{"payload":1}', '{"payload":2}'] as const

export interface ScheduleRunSetup {
  readonly engine: Engine
  readonly faults: Faults
  readonly randomness: Randomness
  /** Unique among the runs of a store. */
  readonly run: string
}

export class ScheduleRun {
  readonly #setup: ScheduleRunSetup
  readonly #chances: Chances
  readonly #model: ScheduleModel
  readonly #scope: string
  readonly #names: readonly string[]
  readonly #declared: string
  /** What each of two processes has seen, and will tick, now or later. */
  readonly #seen: [readonly ModelTick[], readonly ModelTick[]] = [[], []]
  /** What was done, for the one who reads about a failure. */
  readonly steps: string[] = []

  constructor(setup: ScheduleRunSetup) {
    this.#setup = setup
    this.#chances = new Chances(setup.randomness)
    this.#model = new ScheduleModel(setup.engine.clock.now())
    this.#scope = `app/${setup.run}`
    this.#names = ['a', 'b/1', 'b/2', "'%"].map((name) => `app-${setup.run}-${name}`)
    this.#declared = `app-${setup.run}-nightly`
  }

  async run(steps: number): Promise<void> {
    await this.#setup.engine.backend().purgeQueue({ queue })
    for (let step = 0; step < steps; step += 1) {
      const fault = this.#chances.is(0.1) ? this.#chances.pick(this.#setup.faults.kinds) : undefined
      await this.#step(fault)
      await this.#compare()
    }
    await this.#heal()
  }

  get #store(): ScheduleStore {
    const { schedules } = this.#setup.engine.backend()
    assert.ok(schedules !== null)
    return schedules
  }

  async #step(fault: string | undefined): Promise<void> {
    await this.#chances.take([
      [14, () => this.#set(fault)],
      [20, () => this.#look()],
      [24, () => this.#tick(fault)],
      [4, () => this.#pause(fault)],
      [5, () => this.#resume(fault)],
      [3, () => this.#remove(fault)],
      [3, () => this.#declare(fault)],
      [2, () => this.#renew(fault)],
      [2, () => this.#refused()],
      [20, () => this.#advance(this.#chances.pick([1, 5, 10, 31]) * second)],
      [1, () => this.#reopen()],
    ])
  }

  #rule(): ModelRule {
    const ends = this.#chances.is(0.3)
    const inMs = this.#chances.pick([6, 10, 45]) * second
    const everyMs = this.#chances.pick([5, 10, 30]) * second
    return { everyMs, untilMs: ends ? this.#model.now + inMs : null }
  }

  async #set(fault: string | undefined): Promise<void> {
    const names = this.#names.filter(() => this.#chances.is(0.4))
    // A slow process has worked out the next tick some time ago.
    const asOf = this.#model.now - this.#chances.pick([0, 5, 31]) * second
    const given = names.map((name) => ({ name, rule: this.#rule() }))
    const valid = given.flatMap(({ name, rule }) => {
      const definition = this.#chances.pick(definitions)
      const target = this.#chances.pick(targets)
      const nextAt = nextAfter(rule, asOf)
      return nextAt === null ? [] : { name, rule, definition, target, nextAt }
    })
    if (valid.length === 0) return
    const schedules = valid.map(({ name: schedule, rule, ...rest }): SetSchedule => {
      const example = { queue, message: { body: 'example' } }
      return { ...rest, schedule, rule: textOf(rule), example }
    })
    const what = valid.map(({ name, rule }) => `${name} ${textOf(rule)}`).join(', ')
    if (valid.some((one) => this.#model.hasTicked(one))) {
      this.steps.push(`set ${what}, too late`)
      const late = this.#store.set({ scope: this.#scope, schedules })
      await assert.rejects(late, { code: 'schedule_ticked' })
      return
    }
    const { isKept, answer } = await this.#tried(`set ${what}`, fault, () =>
      this.#store.set({ scope: this.#scope, schedules }),
    )
    if (!isKept) return
    const expected = valid.map((one) => this.#model.set(one))
    if (answer !== undefined) assert.deepEqual(answer, expected)
  }

  /** A process reads what is due, and keeps it. */
  async #look(): Promise<void> {
    const process = this.#chances.pick([0, 1])
    const known = this.#chances.pick([targets, targets, ['q'], []])
    this.steps.push(`process ${process} looks for ${known.join(' and ')}`)
    const { schedules, nextAt, unserved } = await this.#store.due({
      ...{ scope: this.#scope, targets: known },
    })
    const due = this.#model.due(known)
    assert.deepEqual(schedules.map(nameOf).toSorted(), due.map(({ name }) => name).toSorted())
    const others = new Set(this.#model.due(targets).map(({ target }) => target))
    for (const target of ['', ...known]) others.delete(target)
    assert.deepEqual(unserved.map(({ target }) => target).toSorted(), [...others].toSorted())
    const later = [...this.#model.schedules.values()].filter(
      (one) => !one.isPaused && ['', ...known].includes(one.target),
    )
    const next = later.flatMap((one) =>
      (one.nextAt ?? 0) > this.#model.now ? (one.nextAt ?? []) : [],
    )
    assert.equal(nextAt, next.length === 0 ? null : Math.min(...next))
    this.#seen[process] = due.map(tickOf)
  }

  /** A process ticks what it has seen, perhaps long ago. */
  async #tick(fault: string | undefined): Promise<void> {
    const process = this.#chances.pick([0, 1])
    const seen = this.#seen[process].map((tick) => this.#model.asItIs(tick))
    if (seen.length === 0) return
    const isFailing = this.#chances.is(0.1)
    const ticks = seen.map((one) => ({
      ...{ schedule: one.name, rule: textOf(one.rule), definition: one.definition },
      ...{ dueAt: one.dueAt, at: one.dueAt, nextAt: nextAfter(one.rule, one.dueAt), skipped: 0 },
      ...(isFailing
        ? { failure: 'broken' }
        : { emission: { queue, message: { body: bodyOf(one) } } }),
    }))
    const what = seen.map(({ name, dueAt }) => `${name}@${dueAt}`).join(', ')
    const { isKept, answer } = await this.#tried(`process ${process} ticks ${what}`, fault, () =>
      this.#store.tick({ ticks }),
    )
    if (!isKept) return
    const expected = seen.map((one) => (this.#model.tick(one, isFailing) ? 'ticked' : 'taken'))
    if (answer !== undefined) {
      assert.deepEqual(
        answer.map(({ status }) => status),
        expected,
      )
    }
  }

  async #pause(fault: string | undefined): Promise<void> {
    const schedule = this.#anyName()
    const { isKept } = await this.#tried(`pause ${schedule}`, fault, () =>
      this.#store.pause({ schedule, by: 'anna' }),
    )
    const known = this.#model.schedules.get(schedule)
    if (isKept && known !== undefined) known.isPaused = true
  }

  async #resume(fault: string | undefined): Promise<void> {
    const schedule = this.#anyName()
    const rule = this.#model.schedules.get(schedule)?.rule
    const nextAt = rule === undefined ? null : nextAfter(rule, this.#model.now)
    const { isKept } = await this.#tried(`resume ${schedule}`, fault, () =>
      this.#store.resume({ schedule, by: 'ben', nextAt }),
    )
    if (isKept) this.#model.resume(schedule)
  }

  async #remove(fault: string | undefined): Promise<void> {
    const schedule = this.#chances.pick(this.#names) ?? ''
    const { isKept, answer } = await this.#tried(`remove ${schedule}`, fault, () =>
      this.#store.remove({ schedule }),
    )
    if (!isKept) return
    const expected = this.#model.schedules.delete(schedule)
    if (answer !== undefined) assert.equal(answer, expected)
  }

  async #declare(fault: string | undefined): Promise<void> {
    const rule = this.#chances.pick([
      { everyMs: 10 * second, untilMs: null },
      { everyMs: 30 * second, untilMs: null },
    ])
    const nextAt = nextAfter(rule, this.#model.now)
    const request = { schedule: this.#declared, scope: this.#scope, rule: textOf(rule), nextAt }
    const { isKept } = await this.#tried(`declare ${textOf(rule)}`, fault, () =>
      this.#store.ensure(request),
    )
    if (isKept) this.#model.declare(this.#declared, rule)
  }

  /** An app without schedules is open. */
  async #renew(fault: string | undefined): Promise<void> {
    const request = { scope: this.#scope, schedules: [], abandonedAfterMs }
    const { isKept } = await this.#tried('renew', fault, () => this.#store.renew(request))
    if (isKept) this.#model.abandon(abandonedAfterMs)
  }

  /** What is refused changes nothing. */
  async #refused(): Promise<void> {
    this.steps.push('refused calls')
    const [name = ''] = this.#names
    const nextAt = this.#model.now
    const given = { rule: 'every 5s', definition: '{}', target: 'q', nextAt }
    const example = { queue: 'nowhere', message: { body: '' } }
    const scope = this.#scope
    const schedules = [{ ...given, schedule: name, example }]
    await assert.rejects(this.#store.set({ scope, schedules }), { code: 'queue_not_found' })
    if (this.#model.schedules.has(this.#declared)) {
      await assert.rejects(this.#store.remove({ schedule: this.#declared }))
    }
    if (this.#model.schedules.has(name)) {
      const declared = { schedule: name, scope, rule: 'every 5s', nextAt }
      await assert.rejects(this.#store.ensure(declared), { code: 'invalid_argument' })
    }
  }

  async #advance(ms: number): Promise<void> {
    this.steps.push(`${ms} ms pass`)
    await this.#setup.engine.clock.advance(ms)
    this.#model.now += ms
  }

  async #reopen(): Promise<void> {
    this.steps.push('reopen')
    await this.#setup.engine.reopen()
  }

  async #tried<T>(
    what: string,
    fault: string | undefined,
    call: () => Promise<T>,
  ): Promise<Tried<T>> {
    this.steps.push(fault === undefined ? what : `${what}, with the fault ${fault}`)
    return this.#setup.faults.during(fault, call)
  }

  async #compare(): Promise<void> {
    const { items } = await this.#store.list({ scope: this.#scope, limit: 100 })
    const shown = items.map((record) => ({
      ...{ name: record.schedule, rule: record.rule, definition: record.definition },
      ...{ nextAt: record.nextAt, lastAt: record.lastAt, ticks: record.ticks },
      ...{ failed: record.failed, isPaused: record.pausedAt !== null },
    }))
    const expected = [...this.#model.schedules.values()].map(
      ({ name, rule, definition, nextAt, lastAt, ticks, failed, isPaused }) => ({
        ...{ name, rule: textOf(rule), definition, nextAt, lastAt, ticks, failed, isPaused },
      }),
    )
    assert.deepEqual(shown, expected.toSorted(byName))
    const backend = this.#setup.engine.backend()
    const { items: sent } = await backend.peek({ queue, state: 'ready', limit: 1_000 })
    const bodies = sent.map(({ body }) => body)
    // What several processes send within a second has no order.
    if (this.#setup.engine.isShared) assert.deepEqual(bodies.sort(), this.#model.sent.toSorted())
    else assert.deepEqual(bodies, this.#model.sent)
    assert.equal(new Set(this.#model.sent).size, this.#model.sent.length, 'a tick was sent twice')
  }

  /** No more faults: with a process that knows every target, nothing stays due. */
  async #heal(): Promise<void> {
    for (const name of [...this.#names, this.#declared]) {
      const rule = this.#model.schedules.get(name)?.rule
      const nextAt = rule === undefined ? null : nextAfter(rule, this.#model.now)
      await this.#store.resume({ schedule: name, by: 'ben', nextAt })
      this.#model.resume(name)
    }
    await this.#advance(30 * second)
    for (let round = 0; round < 100 && this.#model.due(targets).length > 0; round += 1) {
      const { schedules } = await this.#store.due({ scope: this.#scope, targets })
      assert.notEqual(schedules.length, 0, 'the model has due ticks that the store does not show')
      this.#seen[0] = this.#model.due(targets).map(tickOf)
      this.#seen[1] = this.#seen[0]
      await this.#tick(undefined)
      await this.#compare()
    }
    assert.deepEqual(this.#model.due(targets), [], 'ticks are left')
  }

  #anyName(): string {
    return this.#chances.pick([...this.#names, this.#declared]) ?? ''
  }
}

function tickOf({ name, rule, definition, nextAt, revision }: ModelSchedule): ModelTick {
  return { name, rule, definition, dueAt: nextAt ?? 0, revision }
}

function nameOf({ schedule }: ScheduleRecord): string {
  return schedule
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1
}
