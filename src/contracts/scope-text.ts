/** Whose schedules and findings are whose, in a store that several apps and stages share. */
import type { NameScope } from './resolve-names.ts'

/** Not a prefix of names: `reports-dev-` begins the names of an app `reports-dev` as well. */
export function scopeText({ app, stage }: NameScope): string {
  return `${app}/${stage}`
}
