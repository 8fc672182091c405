/** The port of kill switches and budgets on SQLite. */
import type { Page } from '../../backend.ts'
import type {
  BudgetState,
  BudgetWindow,
  LiftSwitch,
  ListSwitchEvents,
  SetSwitch,
  Spend,
  SwitchEvent,
  SwitchRecord,
  SwitchStore,
} from '../../switch-store.ts'
import type { Session } from '../driver/session.ts'
import type { Writer } from '../driver/writer.ts'
import { budgetState, spend } from './budgets.ts'
import { liftSwitch, setSwitch, switchEvents } from './switches.ts'

type Read = <T>(run: (session: Session, now: number) => T) => Promise<T>

export class SqliteSwitchStore implements SwitchStore {
  readonly #writer: Writer
  readonly #read: Read

  constructor(writer: Writer, read: Read) {
    this.#writer = writer
    this.#read = read
  }

  set(request: SetSwitch): Promise<SwitchRecord> {
    return this.#writer.submit((tx) => setSwitch(tx, request))
  }

  lift(request: LiftSwitch): Promise<boolean> {
    return this.#writer.submit((tx) => liftSwitch(tx, request))
  }

  list(): Promise<readonly SwitchRecord[]> {
    return this.#read((session, now) => session.queues.switches.on(now))
  }

  history(request: ListSwitchEvents): Promise<Page<SwitchEvent>> {
    return this.#read((session) => switchEvents(session, request))
  }

  spend(request: Spend): Promise<BudgetState> {
    return this.#writer.submit((tx) => spend(tx, request))
  }

  budget(request: BudgetWindow): Promise<BudgetState> {
    return this.#read((session, now) => budgetState(session, request, now))
  }
}
