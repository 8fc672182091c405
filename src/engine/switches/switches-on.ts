/**
 * The kill switches of a store as one process sees them. Claims check them for every message, so a
 * database keeps them in memory, under the version of the queues.
 */
import type { SwitchMode, SwitchRecord, SwitchScope } from '../../backends/switch-store.ts'
import { type Query, query } from '../statements.ts'

export const readSwitches: Query<SwitchRow> = query(
  'SELECT * FROM kill_switch ORDER BY scope, value',
)

export interface SwitchRow {
  readonly scope: SwitchScope
  readonly value: string
  readonly mode: SwitchMode
  readonly by: string
  readonly note: string | null
  readonly set_at: number
  readonly until: number | null
}

/** One whose time is over counts as off, swept away or not. */
export class Switches {
  readonly #all: ReadonlyMap<string, SwitchRecord>

  constructor(rows: readonly SwitchRow[]) {
    this.#all = new Map(
      rows.map(({ set_at: setAt, ...row }) => [keyOf(row.scope, row.value), { ...row, setAt }]),
    )
  }

  get isEmpty(): boolean {
    return this.#all.size === 0
  }

  find(scope: SwitchScope, value: string, now: number): SwitchRecord | undefined {
    const found = this.#all.get(keyOf(scope, value))
    return found !== undefined && isOn(found, now) ? found : undefined
  }

  on(now: number): readonly SwitchRecord[] {
    return [...this.#all.values()].filter((one) => isOn(one, now))
  }

  expired(now: number): readonly SwitchRecord[] {
    return [...this.#all.values()].filter((one) => !isOn(one, now))
  }

  /** When the next switch turns itself off. */
  nextEnd(now: number): number {
    return Math.min(...this.on(now).map(({ until }) => until ?? Number.POSITIVE_INFINITY))
  }
}

function keyOf(scope: SwitchScope, value: string): string {
  return `${scope}:${value}`
}

function isOn({ until }: SwitchRecord, now: number): boolean {
  return until === null || until > now
}
