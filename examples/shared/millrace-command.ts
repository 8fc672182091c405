/** The `millrace` command of this checkout. In a project with the package installed, use `npx millrace`. */
import { join } from 'node:path'
import { Program } from './program.ts'

/** Run it with Node; the arguments of the command follow. */
export const millraceFile: string = join(import.meta.dirname, '../../src/cli.ts')

/** Runs the command and resolves to its output; rejects if it fails. */
export async function runMillrace(args: readonly string[]): Promise<string> {
  const program = new Program({ command: [millraceFile, ...args], variables: {} })
  if ((await program.ended) !== 0) {
    throw new Error(`millrace ${args.join(' ')} failed: ${program.output}`)
  }
  return program.output
}
