/**
 * Runs the demo with one command: starts an SMTP server, an API process and two workers in a temporary folder,
 * runs a scenario against them, prints what is left, and stops everything.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'millrace'
import { Program } from '../shared/program.ts'
import { jobQueueApp, jobQueueNames } from './app.ts'
import { Mailbox } from './demo/mailbox.ts'
import { runScenario } from './demo/scenario.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { Identity } from './identity.ts'
import { openServices } from './services/services.ts'

const print = (line: string): void => console.log(line)

const folder = await mkdtemp(join(tmpdir(), 'millrace-job-queue-'))
const mailbox = new Mailbox()
const variables = {
  // Short for the demo; the default waits two seconds between two model calls.
  JOB_QUEUE_COURSE_GEN_LIMITER_MS: '300',
  ...settingsOf(process.env),
  DATA_DIR: folder,
  SMTP_URL: await mailbox.start(),
  JWT_SECRET: randomBytes(32).toString('hex'),
}
const environment = readEnvironment(variables)
const started = new Map<string, Program>()
// An interrupt ends the child processes too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
process.once('exit', (code) => {
  if (code !== 0) print(`The logs are in ${folder}`)
})
try {
  await addUsers(environment)
  const start = async (file: 'api.ts' | 'worker.ts', name: string): Promise<string> => {
    const command = [join(import.meta.dirname, file)]
    const log = join(folder, `${name}.log`)
    const onLine = (line: string): void => appendFileSync(log, `${line}\n`)
    const program = new Program({ command, variables, onLine })
    started.set(name, program)
    const [ready] = await program.waitForLine(/^(?:api http:.*|worker ready)$/)
    print(`Started ${name}: ${ready} (process ${program.pid})`)
    return ready
  }
  const api = await start('api.ts', 'api')
  await Promise.all([start('worker.ts', 'worker-1'), start('worker.ts', 'worker-2')])

  const url = api.replace('api ', '')
  const identity = new Identity(environment.jwtSecret)
  await runScenario({ url, identity, mailbox, print })
} finally {
  for (const [name, program] of [...started].reverse()) {
    const code = await program.stop()
    print(`Stopped ${name}, exit code ${code}`)
    if (code !== 0) process.exitCode = 1
  }
  await mailbox.stop()
}
await tellWhatIsLeft(environment)
await rm(folder, { recursive: true })
print('All checks passed.')

/** Nothing else of the caller's environment reaches the processes. */
function settingsOf(from: NodeJS.ProcessEnv): Record<string, string> {
  const known = Object.entries(from).filter(([name]) =>
    /^JOB_QUEUE_|^ANTHROPIC_|^REDIS_URL$|^MILLRACE_STORE$|^PATH$/.test(name),
  )
  return Object.fromEntries(known.map(([name, value]) => [name, value ?? '']))
}

/** The system has no sign-up, so the demo creates its accounts here. */
async function addUsers(settings: Environment): Promise<void> {
  const services = openServices(settings)
  services.users.save({ id: 'ada', email: 'ada@example.com' }, 100)
  services.users.save({ id: 'bob', email: 'bob@example.com' }, 3)
  await services.close()
}

/** Job rows are kept, so their status can be read later. */
async function tellWhatIsLeft(settings: Environment): Promise<void> {
  await using mill = await open(jobQueueApp(settings), { store: settings.store })
  print('Jobs:')
  for (const name of jobQueueNames) {
    const { items } = await mill.jobs.list(name, { limit: 100 })
    const counts = new Map<string, number>()
    for (const { status } of items) counts.set(status, (counts.get(status) ?? 0) + 1)
    print(`  ${name}: ${[...counts].map(([status, count]) => `${count} ${status}`).join(', ')}`)
    assert.equal(counts.get('pending') ?? 0, 0)
  }
  const { items: steps } = await mill.jobs.list('course_generation_queue', { limit: 100 })
  const failed = steps.filter(({ status }) => status === 'failed')
  // Seven steps for Ada; three for Bob and the one without credits; nothing after that.
  assert.deepEqual([steps.length, failed.length, failed[0]?.attemptsMade], [11, 1, 1])
  assert.equal((await mill.queues.dead_letters.statistics()).ready, 1)
  const { items: stopped } = await mill.chains.module.list({ status: 'failed' })
  for (const { failure } of stopped) {
    print(`A chain stopped at ${failure?.step}: ${failure?.reason}`)
  }
  const [next] = await mill.schedules.nightly.next()
  print(`The next clean-up is due at ${next?.toISOString()}.`)
}
