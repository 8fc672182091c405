/** Builds the app from the environment, for `millrace up`, `doctor` and `template export`. */
import type { AppSettings } from 'millrace'
import { type JobQueueApp, jobQueueApp } from './app.ts'
import { readQueueSettings } from './environment.ts'

export function declaredJobQueue({ environment }: AppSettings): JobQueueApp {
  return jobQueueApp(readQueueSettings(environment))
}
