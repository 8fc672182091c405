/** Builds the app from the environment, for `millrace up`, `doctor` and `template export`. */
import type { AppSettings } from 'millrace'
import { type IngestionApp, ingestionApp } from './app.ts'
import { readQueueSettings } from './environment.ts'

export function declaredIngestion({ environment }: AppSettings): IngestionApp {
  return ingestionApp(readQueueSettings(environment))
}
