/**
 * Remembers which stacks went up on a store, beside it: one JSON file each, written whole or not at
 * all. What a stack had before tells what is gone from its template, and what feeds its functions.
 */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DataDirectory } from '../app/data-directory.ts'
import { systemReason } from '../app/system-error.ts'
import { isoTime } from '../core/iso-time.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Ports } from '../core/ports.ts'
import type { Stack, StackFunction } from '../templates/stack.ts'

/** A stack as it went up. Environments of functions are left out: they may hold secrets. */
export interface RecordedStack extends Omit<Stack, 'functions'> {
  readonly functions: readonly Omit<StackFunction, 'environment'>[]
  /** The template or module that it was read from. */
  readonly source: string
  /** Queues of earlier versions that are still in the store. */
  readonly retired: readonly string[]
  readonly up_at: string
}

export interface StackStore {
  read(name: string): Promise<RecordedStack | undefined>
  /** All of them, by name. */
  list(): Promise<readonly RecordedStack[]>
  write(stack: Stack, about: Pick<RecordedStack, 'source' | 'retired'>): Promise<void>
  remove(name: string): Promise<void>
}

/** Says how the rest of the file is to be read. */
const version = 1
const ending = '.json'

export function stackStoreAt(
  { path }: DataDirectory,
  { clock, ids }: Pick<Ports, 'clock' | 'ids'>,
): StackStore {
  const folder = join(path, 'stacks')
  const fileOf = (name: string): string => join(folder, `${encodeURIComponent(name)}${ending}`)
  return {
    read: (name) => readRecord(fileOf(name)),
    async list() {
      const files = (await names(folder)).filter((name) => name.endsWith(ending)).sort()
      const stacks = await Promise.all(files.map((name) => readRecord(join(folder, name))))
      return stacks.filter((stack) => stack !== undefined)
    },
    async write(stack, { source, retired }) {
      const functions = stack.functions.map(({ environment: _, ...kept }) => kept)
      const up_at = isoTime(clock.now())
      const record: RecordedStack = { ...stack, functions, source, retired, up_at }
      const text = `${JSON.stringify({ version, stack: record }, null, 2)}\n`
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeWhole({ file: fileOf(stack.name), beside: ids.next(), text })
    },
    remove: (name) => rm(fileOf(name), { force: true }),
  }
}

async function names(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw unusable(folder, error)
  }
}

async function readRecord(file: string): Promise<RecordedStack | undefined> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw unusable(file, error)
  }
  try {
    const document: { readonly version: number; readonly stack: RecordedStack } = JSON.parse(text)
    if (document.version === version) return document.stack
  } catch (cause) {
    throw unusable(file, cause)
  }
  const message = `${file} was written by another version. Move it away, and bring the stack up again.`
  throw new MillraceError('store_unusable', { message })
}

/** Under another name first: whoever reads finds the old file or the new one, also after a crash. */
async function writeWhole(write: {
  readonly file: string
  readonly beside: string
  readonly text: string
}): Promise<void> {
  const { file, beside, text } = write
  const draft = `${file}.${beside}`
  try {
    const handle = await open(draft, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw unusable(file, error)
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

function unusable(file: string, cause: unknown): MillraceError {
  const message = `Cannot use ${file}: ${systemReason(cause, {})}.`
  return new MillraceError('store_unusable', { message, cause })
}
