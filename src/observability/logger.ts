/**
 * A logger. Any object with these four methods can be used, such as pino. Fields are plain facts (queue,
 * type, id, attempt, duration), never bodies or payloads.
 */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

const nothing = (): void => undefined

/** The default logger of a library: writes nothing. */
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
}
