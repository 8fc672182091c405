/** The app as this environment sets it, for commands that take a module: `up`, `doctor`, `template export`. */
import { type IngestionApp, ingestionApp } from './app.ts'
import { readQueueSettings } from './environment.ts'

export const declaredIngestion: IngestionApp = ingestionApp(readQueueSettings())
