#!/usr/bin/env node
/**
 * The `millrace` command. Data goes to stdout, everything else to stderr; the exit codes are in
 * surfaces/cli/exit-codes.ts. Older versions of Node can run this file, to report that they are too old.
 */
import * as modules from 'node:module'
import { join } from 'node:path'
import { nodeVersionProblem } from './core/node-version.ts'

const problem = nodeVersionProblem(process.versions)
if (problem !== undefined) {
  process.stderr.write(`error: ${problem}\n`)
  process.exit(1)
}

// Halves the start time of the next call. Not in a shared folder, because Node runs the cached code.
// Deno does not have this cache.
const { XDG_CACHE_HOME: cache, HOME: home } = process.env
if (cache || home)
  modules.enableCompileCache?.(join(cache || join(home ?? '', '.cache'), 'millrace'))

// The reader of a pipe may close it early, as `head` does. That is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

void run()

async function run(): Promise<void> {
  // Imported here, after the cache is enabled, so that the cache covers everything.
  const [{ runProgram }, { processShell }, { platform }] = await Promise.all([
    import('./surfaces/cli/program.ts'),
    import('./surfaces/cli/shell.ts'),
    import('./platform.ts'),
  ])
  process.exitCode = await runProgram(processShell(platform), process.argv.slice(2))
}
