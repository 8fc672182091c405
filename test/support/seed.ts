/**
 * Where random runs begin. A commit has a seed of its own, so that every change tries new runs and
 * whoever tests the same commit again tries the same ones. `npm run soak` draws its seeds freely.
 */
import { spawnSync } from 'node:child_process'

/** Set `MILLRACE_SEED` to the seed that a failure printed to run that one again. */
export const seed: number = Number(process.env['MILLRACE_SEED'] ?? seedOfCommit())

function seedOfCommit(): number {
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' })
  return status === 0 ? Number.parseInt(stdout.slice(0, 7), 16) : 1
}
