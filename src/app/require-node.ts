/** Imported first by the entries of the package: throws on a Node that is too old. */
import { MillraceError } from '../core/millrace-error.ts'
import { nodeVersionProblem } from '../core/node-version.ts'

const message = nodeVersionProblem(process.versions)
if (message !== undefined) throw new MillraceError('unsupported', { message })
