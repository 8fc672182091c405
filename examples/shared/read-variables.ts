/** Reads settings from environment variables, checked by a schema. */
import type { z } from 'zod'

/** Throws one error that names every wrong variable, without its value. */
export function readVariables<Settings>(
  schema: z.ZodType<Settings>,
  variables: NodeJS.ProcessEnv,
): Settings {
  // `PORT=` in an .env file counts as not set.
  const given = Object.entries(variables).filter(([, value]) => value !== '')
  const read = schema.safeParse(Object.fromEntries(given))
  if (read.success) return read.data
  const wrong = read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw new Error(`Some environment variables are wrong.\n${wrong.join('\n')}`)
}
