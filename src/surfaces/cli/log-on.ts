/** The log of a server: lines of JSON on stderr. Stdout stays free for output that scripts parse. */
import { Option } from 'commander'
import type { Level } from 'pino'
import type { Logger } from '../../observability/logger.ts'
import { oneOf } from './option-values.ts'

export type LogLevel = Level | 'silent'

const logLevels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']

export function logOption(level: LogLevel): Option {
  const parse = oneOf(logLevels)
  return new Option('--log <level>', `lowest level to log to stderr: ${logLevels.join(', ')}`)
    .env('MILLRACE_LOG')
    .default(level)
    .argParser((text) => (text === '' ? level : parse(text)))
}

export async function logOn(level: LogLevel): Promise<Logger> {
  const { pino } = await import('pino')
  const log: Logger = pino({ level, base: null }, pino.destination({ dest: 2, sync: true }))
  return log
}
