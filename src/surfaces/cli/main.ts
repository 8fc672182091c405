#!/usr/bin/env node
/**
 * The `millrace` command. Data goes to stdout, everything else to stderr; what exit codes mean is in
 * exit-codes.ts.
 */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// The next call starts in half the time. Not in a folder for all users: what lies there is run.
const { XDG_CACHE_HOME: cache, HOME: home } = process.env
if (cache || home) enableCompileCache(join(cache || join(home ?? '', '.cache'), 'millrace'))

// The reader of a pipe may leave first; that is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

// Loaded from here on, so that the cache serves all of it.
const [{ runProgram }, { processShell }] = await Promise.all([
  import('./program.ts'),
  import('./shell.ts'),
])
process.exitCode = await runProgram(processShell(), process.argv.slice(2))
