/** Declares an app: checks it and preserves its types. */
import { MillraceError } from '../core/millrace-error.ts'
import type {
  AppDeclaration,
  CheckedFlows,
  DeclaredFlowParts,
  DefinedApp,
  NoParts,
} from './app-declaration.ts'
import { checkApp } from './check-app.ts'
import type { DeclaredQueues } from './queue-declaration.ts'
import type { CheckedSchedules } from './schedule-types.ts'

export type * from './app-declaration.ts'
export type { DeclaredQueues }

/** Declares an app. Throws one `invalid_contract` error that lists every mistake in it. */
export function defineApp<
  const Queues extends DeclaredQueues,
  const Parts extends DeclaredFlowParts = NoParts,
>(
  name: string,
  declaration: AppDeclaration<Queues> &
    Parts &
    CheckedFlows<Queues, Parts> &
    CheckedSchedules<Queues, Parts>,
): DefinedApp<Queues, Parts> {
  const app = { ...declaration, name }
  const violations = checkApp(app)
  if (violations.length > 0) throw MillraceError.invalid(violations, 'invalid_contract')
  // Optional parts that were not declared are absent from the app too, which the types cannot express.
  return Object.freeze({
    ...app,
    queues: Object.freeze({ ...declaration.queues }),
  }) as unknown as DefinedApp<Queues, Parts>
}
