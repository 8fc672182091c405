/**
 * `npm run soak -- [minutes]`: runs random model tests and crash tests with new seeds until the time is up or a
 * round fails. The output of a failure contains its seed.
 */
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'

const minutes = Number(process.argv[2] ?? 30)
if (!(minutes > 0)) {
  console.error('Usage: npm run soak -- [minutes]')
  process.exit(2)
}
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const endsMs = performance.now() + minutes * 60_000
let rounds = 0
while (performance.now() < endsMs) {
  const seed = String(randomInt(2 ** 31))
  const runs = {
    MILLRACE_MODEL_RUNS: '5000',
    MILLRACE_JOB_RUNS: '2000',
    // A run on Postgres takes about 50 times as long as one on SQLite.
    MILLRACE_POSTGRES_SHARE: '0.1',
  }
  const env = { ...process.env, ...runs, MILLRACE_SEED: seed }
  const args = [vitest, 'run', 'test/model', 'test/crash']
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit', env })
  if (status !== 0) process.exit(status ?? 1)
  rounds += 1
}
console.log(`${rounds} rounds passed`)
