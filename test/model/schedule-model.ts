/**
 * Schedules as plainly as they can be said: what each sends, when it ticks next, and what was sent. Every
 * rule is an interval, and no tick is skipped.
 */
export interface ModelRule {
  readonly everyMs: number
  readonly untilMs: number | null
}

export interface ModelSchedule {
  readonly name: string
  rule: ModelRule
  /** Null if an app declares it. */
  definition: string | null
  target: string
  nextAt: number | null
  lastAt: number | null
  ticks: number
  failed: number
  isPaused: boolean
  declaredAt: number
  /** Rises with each rule that it gets. */
  revision: number
}

/** What a process has seen of a schedule, and wants to tick. */
export interface ModelTick {
  readonly name: string
  readonly rule: ModelRule
  readonly definition: string | null
  readonly dueAt: number
  readonly revision: number
}

export class ScheduleModel {
  now: number
  readonly schedules = new Map<string, ModelSchedule>()
  readonly sent: string[] = []
  #revisions = 0

  constructor(now: number) {
    this.now = now
  }

  /** Whether the next tick was worked out so long ago that it has been sent since. */
  hasTicked({ name, rule, nextAt }: Pick<ModelSchedule, 'name' | 'rule' | 'nextAt'>): boolean {
    const known = this.schedules.get(name)
    if (known === undefined || nextAt === null || textOf(known.rule) === textOf(rule)) return false
    return known.lastAt !== null && nextAt <= known.lastAt
  }

  /** The next tick may have been worked out some time ago. */
  set(
    given: Pick<ModelSchedule, 'name' | 'rule' | 'definition' | 'target' | 'nextAt'>,
  ): 'created' | 'changed' | 'unchanged' {
    const { nextAt } = given
    const known = this.schedules.get(given.name)
    this.#revisions += 1
    const revision = this.#revisions
    if (known === undefined) {
      const fresh = { lastAt: null, ticks: 0, failed: 0, isPaused: false, declaredAt: this.now }
      this.schedules.set(given.name, { ...given, ...fresh, revision })
      return 'created'
    }
    const isSameRule = textOf(known.rule) === textOf(given.rule)
    if (isSameRule && known.definition === given.definition) return 'unchanged'
    Object.assign(known, given, isSameRule ? { nextAt: known.nextAt } : { nextAt, revision })
    return 'changed'
  }

  /** What an app does when it opens; declared schedules are never refused here. */
  declare(name: string, rule: ModelRule): void {
    this.set({ name, rule, definition: null, target: '', nextAt: nextAfter(rule, this.now) })
    const known = this.schedules.get(name)
    if (known !== undefined) known.declaredAt = this.now
  }

  due(targets: readonly string[]): readonly ModelSchedule[] {
    return [...this.schedules.values()].filter(
      ({ isPaused, nextAt, target }) =>
        !isPaused && nextAt !== null && nextAt <= this.now && ['', ...targets].includes(target),
    )
  }

  /** What a process has seen may be the tick of a schedule that was removed and set again the same way. */
  asItIs(tick: ModelTick): ModelTick {
    const found = this.schedules.get(tick.name)
    const isSame =
      found?.nextAt === tick.dueAt &&
      found.definition === tick.definition &&
      textOf(found.rule) === textOf(tick.rule)
    return isSame ? { ...tick, revision: found.revision } : tick
  }

  /** Whether the tick still counts. Sends it, unless it fails. */
  tick(tick: ModelTick, failure: boolean): boolean {
    const found = this.schedules.get(tick.name)
    const counts =
      found !== undefined &&
      !found.isPaused &&
      found.nextAt === tick.dueAt &&
      textOf(found.rule) === textOf(tick.rule) &&
      found.definition === tick.definition
    if (!counts) return false
    if (failure) found.failed += 1
    else {
      this.sent.push(bodyOf(tick))
      found.ticks += 1
      found.lastAt = Math.max(found.lastAt ?? 0, tick.dueAt)
    }
    this.#continueAt(found, nextAfter(found.rule, tick.dueAt))
    return true
  }

  resume(name: string): void {
    const found = this.schedules.get(name)
    if (found === undefined || !found.isPaused) return
    found.isPaused = false
    this.#continueAt(found, nextAfter(found.rule, this.now))
  }

  /** Declared ones that no app has had for so long. */
  abandon(afterMs: number): void {
    for (const { name, definition, declaredAt } of this.schedules.values()) {
      if (definition === null && declaredAt <= this.now - afterMs) this.schedules.delete(name)
    }
  }

  #continueAt(schedule: ModelSchedule, nextAt: number | null): void {
    schedule.nextAt = nextAt
    if (nextAt === null && schedule.definition !== null) this.schedules.delete(schedule.name)
  }
}

export function nextAfter({ everyMs, untilMs }: ModelRule, atMs: number): number | null {
  const next = (Math.floor(atMs / everyMs) + 1) * everyMs
  return untilMs !== null && next > untilMs ? null : next
}

/** As the library writes it. */
export function textOf({ everyMs, untilMs }: ModelRule): string {
  const every = `every ${everyMs / 1_000}s`
  return untilMs === null ? every : `${every} until ${new Date(untilMs).toISOString()}`
}

/** Tells each tick from every other. */
export function bodyOf({ name, definition, dueAt, revision }: ModelTick): string {
  return JSON.stringify([name, definition, dueAt, revision])
}
