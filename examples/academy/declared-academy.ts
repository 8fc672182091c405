/** The app as this environment sets it, for commands that take a module: `up`, `doctor`, `template export`. */
import { type Academy, createAcademy } from './app.ts'
import { readEnvironment } from './environment.ts'

export const declaredAcademy: Academy = createAcademy(readEnvironment())
