#!/usr/bin/env node
/**
 * The `millrace` command. Data goes to stdout, everything else to stderr; what exit codes mean is in
 * surfaces/cli/exit-codes.ts. Older versions of Node can run this file, so that it can say what is missing.
 */
import * as modules from 'node:module'
import { join } from 'node:path'
import { nodeVersionProblem } from './core/node-version.ts'

const problem = nodeVersionProblem(process.versions)
if (problem !== undefined) {
  process.stderr.write(`error: ${problem}\n`)
  process.exit(1)
}

// The next call starts in half the time. Not in a folder for all users: what lies there is run.
// Deno has no compile cache.
const { XDG_CACHE_HOME: cache, HOME: home } = process.env
if (cache || home)
  modules.enableCompileCache?.(join(cache || join(home ?? '', '.cache'), 'millrace'))

// The reader of a pipe may leave first; that is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

void run()

async function run(): Promise<void> {
  // Loaded from here on, so that the cache serves all of it.
  const [{ runProgram }, { processShell }, { platform }] = await Promise.all([
    import('./surfaces/cli/program.ts'),
    import('./surfaces/cli/shell.ts'),
    import('./platform.ts'),
  ])
  process.exitCode = await runProgram(processShell(platform), process.argv.slice(2))
}
