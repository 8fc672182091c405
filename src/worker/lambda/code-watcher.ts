/**
 * Reports when the code of a function has changed. It watches folders and not files, because editors replace
 * a file when they save it. Only files that were loaded count.
 */
import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Timers } from '../../core/ports.ts'

/** Saving changes several files, each more than once. */
const settleMs = 100

export interface CodeWatcherSetup {
  readonly timers: Timers
  readonly onChange: () => void
}

export class CodeWatcher {
  readonly #setup: CodeWatcherSetup
  readonly #files = new Set<string>()
  readonly #folders = new Map<string, FSWatcher>()
  #cancel: (() => void) | undefined
  #isClosed = false

  constructor(setup: CodeWatcherSetup) {
    this.#setup = setup
  }

  add(files: readonly string[]): void {
    if (this.#isClosed) return
    for (const file of files) {
      this.#files.add(file)
      this.#watch(dirname(file))
    }
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
    for (const folder of this.#folders.values()) folder.close()
    this.#folders.clear()
  }

  #watch(folder: string): void {
    if (this.#folders.has(folder)) return
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => this.#look(folder, name))
      watcher.on('error', () => this.#forget(folder))
      this.#folders.set(folder, watcher)
    } catch {
      // Changes in a folder that cannot be watched need a restart.
    }
  }

  #forget(folder: string): void {
    this.#folders.get(folder)?.close()
    this.#folders.delete(folder)
  }

  #look(folder: string, name: string | null): void {
    const isOurs = name === null || this.#files.has(join(folder, basename(name)))
    if (!isOurs || this.#isClosed) return
    this.#cancel?.()
    this.#cancel = this.#setup.timers.after(settleMs, () => this.#setup.onChange(), {
      background: true,
    })
  }
}
