/** Builds the app from the environment, for `millrace up`, `doctor` and `template export`. */
import type { AppSettings } from 'millrace'
import { type Academy, createAcademy } from './app.ts'
import { readEnvironment } from './environment.ts'

export function declaredAcademy({ environment }: AppSettings): Academy {
  return createAcademy(readEnvironment(environment))
}
