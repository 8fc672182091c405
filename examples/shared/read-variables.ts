/** Reads settings from environment variables by a schema. */
import type { z } from 'zod'

/** Throws one error that names every variable with a wrong value, and quotes none of the values. */
export function readVariables<Settings>(
  schema: z.ZodType<Settings>,
  variables: NodeJS.ProcessEnv,
): Settings {
  // A variable that is set to nothing is not set: `PORT=` in an .env file.
  const given = Object.entries(variables).filter(([, value]) => value !== '')
  const read = schema.safeParse(Object.fromEntries(given))
  if (read.success) return read.data
  const wrong = read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw new Error(`The environment cannot be used.\n${wrong.join('\n')}`)
}
