/** The app as this environment sets it, for commands that take a module: `up`, `doctor`, `template export`. */
import { repliesApp } from './app.ts'
import { readEnvironment } from './environment.ts'

export const declaredReplies: ReturnType<typeof repliesApp> = repliesApp(readEnvironment().settings)
