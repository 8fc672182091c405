/** A line that a handler has logged, as it is kept with its attempt. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof logLevels)[number]

export interface LogLine {
  /** When it was logged, by the clock of the worker. */
  readonly at: number
  readonly level: LogLevel
  readonly message: string
  readonly fields: Readonly<Record<string, string | number | boolean | null>>
}
