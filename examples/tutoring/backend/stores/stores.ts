/** All stores of the backend. */
import { Database } from '../../../shared/database.ts'
import { type Attempts, attemptsIn } from './attempts.ts'
import { type Exercises, exercisesIn } from './exercises.ts'
import { type Guides, guidesIn } from './guides.ts'
import { schema } from './schema.ts'
import { openTelemetry, type Telemetry } from './telemetry.ts'

export interface Stores extends Disposable {
  readonly attempts: Attempts
  readonly exercises: Exercises
  readonly guides: Guides
  readonly telemetry: Telemetry
}

export interface StoreFiles {
  readonly DATABASE_FILE: string
  readonly TELEMETRY_FILE: string
}

export function openStores({ DATABASE_FILE, TELEMETRY_FILE }: StoreFiles): Stores {
  const database = new Database(DATABASE_FILE, schema)
  const telemetry = openTelemetry(TELEMETRY_FILE)
  return {
    attempts: attemptsIn(database),
    exercises: exercisesIn(database),
    guides: guidesIn(database),
    telemetry,
    [Symbol.dispose]() {
      telemetry[Symbol.dispose]()
      database[Symbol.dispose]()
    },
  }
}
