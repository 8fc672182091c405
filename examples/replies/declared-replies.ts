/** Builds the app from the environment, for `millrace up`, `doctor` and `template export`. */
import type { AppSettings } from 'millrace'
import { repliesApp } from './app.ts'
import { readEnvironment } from './environment.ts'

export function declaredReplies({ environment }: AppSettings): ReturnType<typeof repliesApp> {
  return repliesApp(readEnvironment(environment).settings)
}
