/**
 * The academy as this environment names its queues, for commands that take a module with an app:
 * `millrace up`, `doctor`, `template export`.
 */
import { type Academy, createAcademy } from './app.ts'
import { readEnvironment } from './environment.ts'

export const declaredAcademy: Academy = createAcademy(readEnvironment())
