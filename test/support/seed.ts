/**
 * The seed of random tests. It is derived from the commit, so that every change tests new cases and the same
 * commit always tests the same ones. `npm run soak` uses random seeds.
 */
import { spawnSync } from 'node:child_process'

/** To repeat a failure, set `MILLRACE_SEED` to the seed that it printed. */
export const seed: number = Number(process.env['MILLRACE_SEED'] ?? seedOfCommit())

function seedOfCommit(): number {
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' })
  return status === 0 ? Number.parseInt(stdout.slice(0, 7), 16) : 1
}
