/**
 * Lets commits of this process fail as a crash makes them: before the commit, so that nothing of it is
 * kept, or after it, so that all of it is kept but the call fails.
 */
import { DatabaseSync, StatementSync } from 'node:sqlite'

export type CommitFault = 'before' | 'after'

const ioError = 10

export class CommitFaults {
  /** What the next commit meets. */
  next: CommitFault | undefined
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

  /** Undefined when the caller was made to crash. */
  async during<T>(fault: CommitFault | undefined, call: () => Promise<T>): Promise<T | undefined> {
    this.next = fault
    try {
      const answer = await call()
      // What changed nothing was not committed in a way that could fail.
      return this.next === undefined && fault !== undefined ? undefined : answer
    } catch (error) {
      if (fault === undefined) throw error
      return undefined
    } finally {
      this.next = undefined
    }
  }

  #failing(commit: StatementSync): StatementSync {
    const { run } = StatementSync.prototype
    commit.run = () => {
      const fault = this.next
      this.next = undefined
      if (fault === undefined) return Reflect.apply(run, commit, [])
      if (fault === 'after') Reflect.apply(run, commit, [])
      throw Object.assign(new Error('a crash, as the test has it'), { errcode: ioError })
    }
    return commit
  }
}
