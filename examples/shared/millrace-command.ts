/** The `millrace` command of this checkout. In a project that installed the package it is `npx millrace`. */
import { join } from 'node:path'
import { Program } from './program.ts'

/** A file for Node to run, with the command's arguments after it. */
export const millraceFile: string = join(import.meta.dirname, '../../src/cli.ts')

/** Runs the command to its end and resolves to what it printed; rejects when it failed. */
export async function runMillrace(args: readonly string[]): Promise<string> {
  const program = new Program({ command: [millraceFile, ...args], variables: {} })
  if ((await program.ended) !== 0) {
    throw new Error(`millrace ${args.join(' ')} failed: ${program.output}`)
  }
  return program.output
}
