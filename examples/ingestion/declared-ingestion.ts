/** Makes the app from the environment, for commands that take a module: `up`, `doctor`, `template export`. */
import type { AppSettings } from 'millrace'
import { type IngestionApp, ingestionApp } from './app.ts'
import { readQueueSettings } from './environment.ts'

export function declaredIngestion({ environment }: AppSettings): IngestionApp {
  return ingestionApp(readQueueSettings(environment))
}
