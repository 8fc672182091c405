/**
 * The kill switches of a store as one process sees them. Claims check them for every message, so they
 * are cached like queues, and under the same version.
 */
import type { SwitchMode, SwitchRecord, SwitchScope } from '../../switch-store.ts'
import { query, type Statements } from '../driver/statements.ts'

const allSwitches = query<SwitchRow>('SELECT * FROM kill_switch ORDER BY scope, value')

interface SwitchRow {
  readonly scope: SwitchScope
  readonly value: string
  readonly mode: SwitchMode
  readonly by: string
  readonly note: string | null
  readonly set_at: number
  readonly until: number | null
}

/** The switches in the store. One whose time is over counts as off, swept away or not. */
export class SwitchCache {
  readonly #statements: Statements
  #switches: ReadonlyMap<string, SwitchRecord> | undefined

  constructor(statements: Statements) {
    this.#statements = statements
  }

  forget(): void {
    this.#switches = undefined
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

  get #all(): ReadonlyMap<string, SwitchRecord> {
    this.#switches ??= new Map(
      this.#statements
        .all(allSwitches)
        .map(({ set_at: setAt, ...row }) => [keyOf(row.scope, row.value), { ...row, setAt }]),
    )
    return this.#switches
  }
}

function keyOf(scope: SwitchScope, value: string): string {
  return `${scope}:${value}`
}

function isOn({ until }: SwitchRecord, now: number): boolean {
  return until === null || until > now
}
