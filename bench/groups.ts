/** Groups of rows that can be measured alone, with `--only`. */
import type { Row } from './report.ts'

export type Groups<Scene> = Readonly<Record<string, (scene: Scene) => Promise<readonly Row[]>>>

/** The named group, or all of them in order. Throws if there is no group of this name. */
export function chosenGroups<Scene>(
  groups: Groups<Scene>,
  only: string | undefined,
): readonly Groups<Scene>[string][] {
  if (only === undefined) return Object.values(groups)
  const group = groups[only]
  if (group === undefined) {
    throw new Error(`--only takes one of ${Object.keys(groups).join(', ')}; it was "${only}".`)
  }
  return [group]
}
