/** Adds the ids of the active span to every line. */
import { type LogFields, type Logger, silentLogger } from './logger.ts'
import type { Traces } from './traces.ts'

export function tracedLog(log: Logger, traces: Traces | undefined): Logger {
  if (traces === undefined || log === silentLogger) return log
  const traced = (fields: LogFields): LogFields => ({ ...fields, ...traces.activeFields() })
  return {
    debug: (fields, message) => log.debug(traced(fields), message),
    info: (fields, message) => log.info(traced(fields), message),
    warn: (fields, message) => log.warn(traced(fields), message),
    error: (fields, message) => log.error(traced(fields), message),
  }
}
