/** Identifies the app and stage that schedules and findings belong to, in a store that several share. */
import type { NameScope } from './resolve-names.ts'

/** Not a prefix of names: `reports-dev-` is also a prefix of the names of an app called `reports-dev`. */
export function scopeText({ app, stage }: NameScope): string {
  return `${app}/${stage}`
}
