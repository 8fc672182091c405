/** What the crash test of fan-in and the process that it kills agree on. */
export interface FanInArgument {
  readonly file: string
  readonly journal: string
  /** Number of the run, which makes the ids of flows unique. */
  readonly run: number
}

export const flowName = 'app-dev-pages'
export const workQueue = 'work'
export const deadQueue = 'work-dead'
export const endsQueue = 'ends'

/** Units that a flow is opened with, and those that are added before it is sealed. */
export const firstUnits = ['a', 'b', 'c'] as const
export const laterUnits = ['c', 'd', 'e'] as const

export interface UnitNotes {
  /** Flows by what was asked for and what was answered. */
  readonly opened: ReadonlySet<string>
  readonly sealed: ReadonlySet<string>
  /** Units as `flow/unit`, whose acknowledgement was answered. */
  readonly acknowledged: ReadonlySet<string>
}

/** Reads lines such as `opened 3.17` and `acknowledged 3.17/b`. */
export function readNotes(text: string): UnitNotes {
  const lines = text.split('\n').map((line) => line.split(' '))
  const named = (wanted: string): ReadonlySet<string> =>
    new Set(lines.flatMap(([word, name]) => (word === wanted && name !== undefined ? [name] : [])))
  return {
    opened: named('opened'),
    sealed: named('sealed'),
    acknowledged: named('acknowledged'),
  }
}
