/**
 * When cron rules tick in a year, found without a cron library: every quarter of an hour is looked at, and
 * its local time is compared with the rule.
 */
const quarterMs = 15 * 60_000
const hourMs = 4 * quarterMs

export interface LocalRule {
  readonly timezone: string
  /** The local hours and minutes at which it ticks, on every day. Minutes are quarters of an hour. */
  readonly hours: readonly number[]
  readonly minutes: readonly number[]
}

export function cronOf({ hours, minutes }: LocalRule): string {
  return `${minutes.join(',')} ${hours.join(',')} * * *`
}

interface LocalTime {
  readonly atMs: number
  readonly day: string
  readonly minuteOfDay: number
}

/** The ticks after a time and up to another one, as the documentation of schedules describes them. */
export function expectedTicks(rule: LocalRule, fromMs: number, untilMs: number): readonly number[] {
  const times = localTimes(rule.timezone, fromMs, untilMs)
  const wanted = rule.hours.flatMap((hour) => rule.minutes.map((minute) => hour * 60 + minute))
  const [only] = wanted
  if (wanted.length > 1 || only === undefined) {
    return times.filter(({ minuteOfDay }) => wanted.includes(minuteOfDay)).map(({ atMs }) => atMs)
  }
  const days = Map.groupBy(times, ({ day }) => day)
  // The first time of the day that is not earlier: in a gap its end, and of a repeated hour the first.
  return [...days.values()].flatMap((day) => {
    const start = day.find(({ minuteOfDay }) => minuteOfDay >= only)
    const isWhole = day[0]?.minuteOfDay === 0 || (day[0]?.minuteOfDay ?? 0) <= only
    return start !== undefined && isWhole ? [start.atMs] : []
  })
}

function localTimes(timezone: string, fromMs: number, untilMs: number): readonly LocalTime[] {
  const format = new Intl.DateTimeFormat('en-CA', {
    ...{ timeZone: timezone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit' },
  })
  const times: LocalTime[] = []
  for (let atMs = fromMs + quarterMs; atMs <= untilMs; atMs += quarterMs) {
    const [day = '', clock = ''] = format.format(atMs).split(', ')
    const [hour = 0, minute = 0] = clock.split(':').map(Number)
    times.push({ atMs, day, minuteOfDay: hour * 60 + minute })
  }
  return times
}

/** The same for an interval. */
export function expectedMultiples(
  hours: number,
  fromMs: number,
  untilMs: number,
): readonly number[] {
  const everyMs = hours * hourMs
  const first = Math.floor(fromMs / everyMs) + 1
  const last = Math.floor(untilMs / everyMs)
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * everyMs)
}
