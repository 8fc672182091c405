/** Makes the app from the environment, for commands that take a module: `up`, `doctor`, `template export`. */
import type { AppSettings } from 'millrace'
import { type Academy, createAcademy } from './app.ts'
import { readEnvironment } from './environment.ts'

export function declaredAcademy({ environment }: AppSettings): Academy {
  return createAcademy(readEnvironment(environment))
}
