/**
 * Reads a template in any dialect, or a module that exports an app. Mistakes are returned as problems with
 * their positions, never thrown.
 */
import { extname, resolve } from 'node:path'
import { loadAppAtStage } from '../app/load-app.ts'
import type { QueueContract } from '../contracts/contract-of.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { ReadTemplateOptions } from '../templates/read-template.ts'
import type { ReadTemplate, TemplateProblem } from '../templates/stack.ts'

/** Options for all sources that are read together. */
export type StackSourceOptions = Omit<ReadTemplateOptions, 'file' | 'stackName'>

export interface StackSource extends ReadTemplate {
  /** The file as named by the user. */
  readonly source: string
  /** The queues that an app declares, with their contracts. */
  readonly contracts?: readonly QueueContract[]
}

/** Whether the source is a program. Programs are run and must export an app. */
export function isProgram(source: string): boolean {
  return programs.includes(extname(source))
}

const programs = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts']

/** @param version a higher number reloads the module */
export async function readStackSource(
  source: string,
  options: StackSourceOptions,
  version = 0,
): Promise<StackSource> {
  const read = isProgram(source)
    ? await readApp(source, options, version)
    : await readFromTemplate(source, options)
  return { source, ...read, problems: read.problems.toSorted(inOrderOfPlace) }
}

function inOrderOfPlace({ at: one }: TemplateProblem, { at: other }: TemplateProblem): number {
  if (one.file !== other.file) return one.file < other.file ? -1 : 1
  return one.line - other.line || one.column - other.column
}

async function readFromTemplate(
  file: string,
  { stage, ...options }: StackSourceOptions,
): Promise<ReadTemplate> {
  const { readTemplate } = await import('../templates/read-template.ts')
  return readTemplate({ ...options, file: resolve(file), ...(stage !== undefined && { stage }) })
}

type ReadApp = Omit<StackSource, 'source'>

async function readApp(
  source: string,
  options: StackSourceOptions,
  version: number,
): Promise<ReadApp> {
  const file = resolve(source)
  try {
    const loaded = await loadAppAtStage(file, options, version)
    const { appStack } = await import('./app-stack.ts')
    return appStack({ ...loaded, file })
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    return { stack: null, problems: problemsOf(error, file), exports: {}, files: [file] }
  }
}

function problemsOf(
  { message, violations }: MillraceError,
  file: string,
): readonly TemplateProblem[] {
  const at = { file, line: 1, column: 1 }
  if (violations.length === 0) return [{ severity: 'error', path: '', message, at }]
  return violations.map(({ field, given, allowed }) => ({
    severity: 'error',
    path: field,
    message: `got ${given}, expected ${allowed}`,
    at,
  }))
}
