/** The app as this environment sets it, for commands that take a module: `up`, `doctor`, `template export`. */
import { type JobQueueApp, jobQueueApp } from './app.ts'
import { readQueueSettings } from './environment.ts'

export const declaredJobQueue: JobQueueApp = jobQueueApp(readQueueSettings())
