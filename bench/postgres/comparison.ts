/** One run of the benchmark: its server, the libraries that take part, and the jobs that they lost. */
import { existsSync, readFileSync } from 'node:fs'
import { inTurns } from '../load.ts'
import type { Row } from '../report.ts'
import { type Attempts, attemptsOf, formatAttempts, sumOfAttempts } from './attempts.ts'
import { Contender, type ContenderOptions } from './contender.ts'
import { type LibraryName, libraryNames } from './job-library.ts'
import type { Postgres } from './start-postgres.ts'

export class Comparison {
  readonly postgres: Postgres
  /** Those that are installed, with their versions. */
  readonly libraries: ReadonlyMap<LibraryName, string> = installedLibraries()
  readonly #attempts: { readonly library: LibraryName; readonly attempts: Attempts }[] = []

  constructor(postgres: Postgres) {
    this.postgres = postgres
  }

  /** With one contender for each library, ours first. */
  withLibraries<T>(
    options: Omit<ContenderOptions, 'library'>,
    run: (contenders: readonly Contender[]) => Promise<T>,
  ): Promise<T> {
    const all = [...this.libraries.keys()].map((library) => {
      const database = `${options.database}_${library.replaceAll('-', '_')}`
      return { ...options, library, database }
    })
    return this.withContenders(all, run)
  }

  async withContenders<T>(
    options: readonly ContenderOptions[],
    run: (contenders: readonly Contender[]) => Promise<T>,
  ): Promise<T> {
    const contenders: Contender[] = []
    for (const each of options) contenders.push(await Contender.start(this.postgres, each))
    const result = await run(contenders)
    for (const contender of contenders) {
      await contender.end()
      const { library, counts } = contender
      this.#attempts.push({ library, attempts: attemptsOf(counts) })
    }
    return result
  }

  /** About the jobs of all groups so far. */
  attemptsRow(): Row {
    const [ours = { enqueued: 0, lost: 0, repeated: 0 }, ...theirs] = [...this.libraries.keys()]
      .map((library) => {
        const all = this.#attempts.filter((each) => each.library === library)
        return { library, ...sumOfAttempts(all.map(({ attempts }) => attempts)) }
      })
      // Not all of them take part in each group.
      .filter(({ enqueued }) => enqueued > 0)
    return {
      what: `lost or repeated jobs, of all ${ours.enqueued.toLocaleString('en-US')} above`,
      measured: formatAttempts(ours),
      beside: theirs.map((each) => `${each.library} ${formatAttempts(each)}`).join('; '),
      bar: 'none',
      isMet: ours.lost === 0 && ours.repeated === 0,
    }
  }
}

/**
 * Measures all contenders once in each round, and returns their results in the order of the contenders. The first round
 * is a warm-up and does not count.
 */
export async function measureRounds<T>(
  contenders: readonly Contender[],
  count: number,
  measure: (contender: Contender) => Promise<T>,
): Promise<readonly (readonly T[])[]> {
  const rounds: (readonly T[])[] = []
  for (let round = 0; round <= count; round += 1) {
    const results = await inTurns(contenders, round, (contender) =>
      contender.whileOpen(() => measure(contender)),
    )
    if (round > 0) rounds.push(results)
  }
  return rounds
}

function installedLibraries(): ReadonlyMap<LibraryName, string> {
  const root = new URL('../../', import.meta.url)
  return new Map(
    libraryNames.flatMap((library) => {
      const folder = library === 'millrace' ? '' : `node_modules/${library}/`
      const file = new URL(`${folder}package.json`, root)
      if (!existsSync(file)) return []
      const { version }: { readonly version: string } = JSON.parse(readFileSync(file, 'utf8'))
      return [[library, version]] as const
    }),
  )
}
