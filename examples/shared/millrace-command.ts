/** The `millrace` command of this checkout. In a project with the package installed, use `npx millrace`. */
import { join } from 'node:path'
import { Program } from './program.ts'

/** Run it with Node; the arguments of the command follow. */
export const millraceFile: string = join(import.meta.dirname, '../../src/cli.ts')

/** Runs the command on a store, and resolves to its output; rejects if it fails. */
export async function runMillrace(store: string, args: readonly string[]): Promise<string> {
  // The URL of a database may contain a password, which the list of processes would show.
  const variables = { MILLRACE_STORE: store }
  const program = new Program({ command: [millraceFile, ...args], variables })
  if ((await program.ended) !== 0) {
    throw new Error(`millrace ${args.join(' ')} failed: ${program.output}`)
  }
  return program.output
}
