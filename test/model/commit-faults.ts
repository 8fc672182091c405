/**
 * Lets commits of this process fail as a crash makes them: before the commit, so that nothing of it is
 * kept, or after it, so that all of it is kept but the call fails.
 */
import assert from 'node:assert/strict'
import { DatabaseSync, StatementSync } from 'node:sqlite'

/** Faults of one kind of store. */
export interface Faults<Fault extends string = string> {
  readonly kinds: readonly [Fault, ...Fault[]]
  /** Calls the store, whose next commit meets the fault. */
  during<T>(fault: Fault | undefined, call: () => Promise<T>): Promise<Tried<T>>
}

/** What became of a call that a fault may have met. */
export interface Tried<T> {
  /** The store has kept what the call was to change. */
  readonly isKept: boolean
  readonly hasFailed: boolean
  /** Undefined if the call has failed. */
  readonly answer: T | undefined
}

export type CommitFault = 'before' | 'after'

const ioError = 10

export class CommitFaults implements Faults<CommitFault> {
  readonly kinds = ['before', 'after'] as const
  /** What the next commit meets. */
  #next: CommitFault | undefined
  readonly #prepare = DatabaseSync.prototype.prepare
  readonly #exec = DatabaseSync.prototype.exec

  install(): void {
    const faults = this
    const prepare = this.#prepare
    const exec = this.#exec
    // Only the process crashes here, never the machine; waiting for the disk would show nothing.
    DatabaseSync.prototype.exec = function (this: DatabaseSync, text: string) {
      exec.call(this, text.replace('synchronous = FULL', 'synchronous = OFF'))
    }
    DatabaseSync.prototype.prepare = function (this: DatabaseSync, text: string, ...rest) {
      const statement = prepare.call(this, text, ...rest)
      return text === 'COMMIT' ? faults.#failing(statement) : statement
    }
  }

  remove(): void {
    DatabaseSync.prototype.prepare = this.#prepare
    DatabaseSync.prototype.exec = this.#exec
  }

  async during<T>(fault: CommitFault | undefined, call: () => Promise<T>): Promise<Tried<T>> {
    this.#next = fault
    try {
      const answer = await call()
      // What changed nothing was not committed in a way that could fail.
      const hasCrashed = fault !== undefined && this.#next === undefined
      return hasCrashed ? crashed(fault) : { isKept: true, hasFailed: false, answer }
    } catch (error) {
      if (fault === undefined || this.#next !== undefined) throw error
      assert.equal((error as NodeJS.ErrnoException).code, 'store_failed')
      return crashed(fault)
    } finally {
      this.#next = undefined
    }
  }

  #failing(commit: StatementSync): StatementSync {
    const { run } = StatementSync.prototype
    commit.run = () => {
      const fault = this.#next
      this.#next = undefined
      if (fault === undefined) return Reflect.apply(run, commit, [])
      if (fault === 'after') Reflect.apply(run, commit, [])
      throw Object.assign(new Error('a crash, as the test has it'), { errcode: ioError })
    }
    return commit
  }
}

function crashed(fault: CommitFault): Tried<never> {
  return { isKept: fault === 'after', hasFailed: true, answer: undefined }
}
