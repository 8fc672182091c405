/**
 * Settings files: `millrace.json` in the current folder or the nearest folder above it, and
 * `millrace/config.json` in the user's configuration folder. Precedence: flag, variable, project file,
 * user file.
 */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Command, Option } from 'commander'
import { didYouMean } from '../../core/did-you-mean.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import type { Shell } from './shell.ts'

/** Options that a settings file may set. */
const settable = [
  'store',
  'data',
  'host',
  'port',
  'log',
  'stage',
  'region',
  'account',
  'color',
] as const

type Settings = Readonly<Record<string, string>>

const projectFile = 'millrace.json'

/** Applies the files to options that neither a flag nor a variable has set. */
export function applySettingsFiles(
  command: Command,
  shell: Pick<Shell, 'environment' | 'folder'>,
): void {
  let settings: Settings | undefined
  for (let owner: Command | null = command; owner !== null; owner = owner.parent) {
    for (const option of owner.options) {
      const name = option.attributeName()
      const source = owner.getOptionValueSource(name)
      if (source !== undefined && source !== 'default') continue
      settings ??= { ...userSettings(shell), ...projectSettings(shell.folder) }
      const text = settings[name]
      if (text !== undefined)
        owner.setOptionValueWithSource(name, readValue(option, text), 'config')
    }
  }
}

function readValue(option: Option, text: string): unknown {
  try {
    return option.parseArg === undefined ? text : option.parseArg(text, undefined)
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'The value is not valid.'
    throw refused(
      `The setting '${option.attributeName()}' in a settings file is not valid. ${reason}`,
    )
  }
}

function projectSettings(folder: string): Settings {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const settings = readSettings(join(at, projectFile))
    if (settings !== undefined) return settings
    if (dirname(at) === at) return {}
  }
}

function userSettings({ environment }: Pick<Shell, 'environment'>): Settings {
  const base = environment['XDG_CONFIG_HOME'] || join(environment['HOME'] || homedir(), '.config')
  return readSettings(join(base, 'millrace', 'config.json')) ?? {}
}

/** Returns undefined if the file does not exist. */
function readSettings(file: string): Settings | undefined {
  const text = readText(file)
  if (text === undefined) return undefined
  const document = parse(text, file)
  const entries = Object.entries(document).map(([name, value]): [string, string] => {
    if (!settable.some((one) => one === name)) {
      const hint = didYouMean(name, settable)
      throw refused(`${file} contains an unknown setting '${name}'${hint || '.'}`)
    }
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw refused(`${file}: '${name}' must be a string or a number.`)
    }
    return [name, String(value)]
  })
  return Object.fromEntries(entries.map(([name, value]) => [name, fromFolder(name, value, file)]))
}

/** A path in a file is relative to the folder of the file. */
function fromFolder(name: string, value: string, file: string): string {
  const isPath = name === 'data' || (name === 'store' && !value.includes('://'))
  return isPath ? resolve(dirname(file), value) : value
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return undefined
    throw refused(`Cannot read ${file}: ${error instanceof Error ? error.message : code}`)
  }
}

function parse(text: string, file: string): object {
  try {
    const document: unknown = JSON.parse(text)
    if (typeof document === 'object' && document !== null && !Array.isArray(document))
      return document
  } catch {
    // The answer below serves for both.
  }
  throw refused(`${file} must contain a JSON object of settings.`)
}

function refused(message: string): CommandFailure {
  return new CommandFailure(exitCodes.usage, message)
}
