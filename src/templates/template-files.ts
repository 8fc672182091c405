/**
 * The files of a template. Each is read once, within limits, and remembered for file watchers. Reads are
 * synchronous, because evaluation decides which files are needed.
 */
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { isError } from '../core/is-error.ts'
import type { Node, Origin } from './node.ts'
import { parseDocument } from './parse-document.ts'
import type { Problems } from './problems.ts'

/** The limit of CloudFormation for a template. */
const fileBytesMax = 1_048_576
const filesMax = 200

export class TemplateFiles {
  readonly #problems: Problems
  readonly #texts = new Map<string, string | undefined>()
  readonly #documents = new Map<string, Node | undefined>()

  constructor(problems: Problems) {
    this.#problems = problems
  }

  /** Absolute paths of all files read. */
  list(): readonly string[] {
    return [...this.#texts.keys()]
  }

  /** The tree of a YAML or JSON file; undefined if it cannot be read, which is reported. */
  document(file: string, from: Origin): Node | undefined {
    const key = resolve(file)
    if (!this.#documents.has(key)) {
      const text = this.text(file, from)
      this.#documents.set(
        key,
        text === undefined ? undefined : parseDocument({ file, text }, this.#problems),
      )
    }
    return this.#documents.get(key)
  }

  text(file: string, from: Origin): string | undefined {
    const key = resolve(file)
    if (!this.#texts.has(key)) this.#texts.set(key, this.#read(file, from))
    return this.#texts.get(key)
  }

  #read(file: string, from: Origin): string | undefined {
    const refuse = (why: string): undefined => {
      this.#problems.error(from, `The file '${file}' ${why}.`)
      return undefined
    }
    if (this.#texts.size >= filesMax)
      return refuse(`is not read: a template may have at most ${filesMax} files`)
    try {
      const stats = statSync(file)
      if (!stats.isFile()) return refuse('is not a file')
      if (stats.size > fileBytesMax) return refuse(`is larger than ${fileBytesMax} bytes`)
      return readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
    } catch (error) {
      return refuse(isMissing(error) ? 'does not exist' : 'cannot be read')
    }
  }
}

/** Whether a path exists. A template may name optional files. */
export function fileExists(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

export function folderExists(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

function isMissing(error: unknown): boolean {
  return isError(error) && 'code' in error && error.code === 'ENOENT'
}
