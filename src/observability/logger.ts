/**
 * Where log lines go. Any logger with these four methods fits, pino among them. Fields are plain
 * facts about what happened (queue, type, id, attempt, duration); bodies and payloads never are.
 */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

const nothing = (): void => undefined

/** What a library writes unless it is asked to. */
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
}
