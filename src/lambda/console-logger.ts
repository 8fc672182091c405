/** Writes log lines of handlers to the console, which is the log of a function, as JSON. */
import type { LogFields, Logger } from '../observability/logger.ts'

type Level = keyof Logger

function line(level: Level): Logger[Level] {
  return (fields: LogFields, message: string) => {
    // biome-ignore lint/suspicious/noConsole: the console is the log of a function
    console[level](JSON.stringify({ level, message, ...fields }))
  }
}

export const consoleLogger: Logger = {
  debug: line('debug'),
  info: line('info'),
  warn: line('warn'),
  error: line('error'),
}
