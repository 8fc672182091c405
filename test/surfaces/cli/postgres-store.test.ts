/** Commands on a store in a Postgres database. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, test } from 'vitest'
import { freshDatabase } from '../../services/fresh-database.ts'
import { runCli } from '../../support/cli-process.ts'
import { assertRefused, type CliScene, cliScene } from './cli-scene.ts'

const run = promisify(execFile)

interface PostgresScene extends CliScene {
  readonly url: string
  /** Runs a command on the database. */
  on(...args: readonly string[]): Promise<string>
}

async function postgresScene(): Promise<PostgresScene> {
  const scene = await cliScene()
  const { url } = await freshDatabase()
  return { ...scene, url, on: (...args) => scene.good(...args, '--store', url) }
}

async function namesIn(scene: CliScene, store: string): Promise<readonly string[]> {
  const { queues } = await scene.read('queue', 'list', '--store', store)
  return queues.map(({ name }: { readonly name: string }) => name).sort()
}

describe('a command with --store', () => {
  test('works on a database: queues, messages, dead letters, metrics, switches', async () => {
    const scene = await postgresScene()
    const { on, url } = scene
    await on('queue', 'create', 'dead')
    await on('queue', 'create', 'orders', '--dlq', 'dead', '--max-receives', '1')
    await on('message', 'send', 'orders', '{"id":17}')
    assert.deepEqual(await namesIn(scene, url), ['dead', 'orders'])
    assert.match(await on('message', 'peek', 'orders'), /"id": ?17/)
    assert.match(await on('queue', 'metrics', 'orders', '--json'), /"queue": ?"orders"/)
    await on('switch', 'hold', '--queue', 'orders')
    assert.match(await on('switch', 'list'), /orders/)
    assert.match(await on('alarm', 'list', '--json'), /\[/)
    assert.ok(!existsSync(scene.data))
  })

  test('refuses a database without a store, as it refuses a folder', async () => {
    const scene = await postgresScene()
    const line = /^error: There is no store in the schema "millrace" of the database "test_\w+"\.$/m
    assertRefused(await scene.run('queue', 'list', '--store', scene.url), 6, line)
    const template = await scene.write('template.yaml', queueTemplate)
    // A plan creates no store either.
    await scene.good('up', template, '--dry-run', '--store', scene.url)
    assertRefused(await scene.run('queue', 'list', '--store', scene.url), 6, line)
    await scene.good('up', template, '--store', scene.url)
    assert.deepEqual(await namesIn(scene, scene.url), ['orders'])
  })

  test('prints why a database cannot be opened, and no password', async () => {
    const scene = await cliScene()
    const store = 'postgres://ann:hunter2@127.0.0.1:1/shop'
    const end = await scene.run('queue', 'list', '--store', store)
    const line =
      /^error: Cannot open postgres:\/\/127\.0\.0\.1:1\/shop: no server listens there\.$/m
    assertRefused(end, 6, line)
    assert.doesNotMatch(end.stderr, /hunter2/)
    const wrong = await scene.run('queue', 'list', '--store', 'mysql://ann:hunter2@db/shop')
    assertRefused(wrong, 6, /^error: store: got a URL with mysql:\/\/, expected postgres:\/\//m)
    assert.doesNotMatch(wrong.stderr, /hunter2/)
  })
})

const queueTemplate = `Resources: { Q: { Type: AWS::SQS::Queue, Properties: { QueueName: orders } } }`

describe('the store of a command', () => {
  test('comes from the stronger of --store and --data', async () => {
    const { file, start } = await cliScene()
    const home = { HOME: file('home') }
    const made = (name: string): boolean => existsSync(file(`${name}/millrace.db`))
    const create = (args: readonly string[], env: Record<string, string> = {}) =>
      runCli(['queue', 'create', 'orders', ...args], { ...home, ...env })
    await create(['--data', file('flag')], { MILLRACE_STORE: 'postgres://127.0.0.1:1/none' })
    await create([], { MILLRACE_STORE: file('variable'), MILLRACE_DATA: file('unused') })
    assert.deepEqual(['flag', 'variable', 'unused'].map(made), [true, true, false])
    const both = await start(['queue', 'list', '--store', 'a', '--data', 'b']).ended
    assertRefused(both, 2, /^error: Use one of --store and --data, not both\.$/m)
  })

  test('is completed: queue names are those of the database', async () => {
    const { on, url, good } = await postgresScene()
    await on('queue', 'create', 'orders')
    const words = ['queue', 'show', '--store', url, '']
    assert.match(await good('__complete', ...words), /^orders$/m)
  })
})

describe('a backup of a database', () => {
  test('is refused with the command that makes it, which works, as does that to restore', async () => {
    const scene = await postgresScene()
    const { on, url } = scene
    const ownSchema = `${url}?schema=My-Jobs`
    await on('queue', 'create', 'elsewhere')
    await scene.good('queue', 'create', 'orders', '--store', ownSchema)
    await scene.good('message', 'send', 'orders', 'kept', '--store', ownSchema)
    const file = scene.file('monday copy.dump')
    const backup = await scene.run('backup', file, '--store', ownSchema)
    assertRefused(backup, 1, /^error: Millrace does not copy a store on Postgres\. Run: pg_dump /m)
    await runShell(backup.stderr)

    const { url: other } = await freshDatabase()
    const restore = await scene.run('restore', file, '--store', other)
    assertRefused(
      restore,
      1,
      /^error: Millrace does not restore a store on Postgres\. Run: pg_rest/m,
    )
    await runShell(restore.stderr)
    const restored = `${other}?schema=My-Jobs`
    assert.deepEqual(await namesIn(scene, restored), ['orders'])
    assert.match(await scene.good('message', 'receive', 'orders', '--store', restored), /kept/)
    const elsewhere = await scene.run('queue', 'list', '--store', other)
    assertRefused(elsewhere, 6, /There is no store/)
  })

  test('is advised by the doctor', async () => {
    const { on } = await postgresScene()
    await on('queue', 'create', 'orders', '--wait', '20s')
    const findings = await on('doctor')
    assert.match(
      findings,
      /^hint postgres {2}backups-by-database\n.*\n {2}fix: .*millrace backup FILE/m,
    )
  })
})

/** The command in the last line of an error. */
async function runShell(stderr: string): Promise<void> {
  const [, command = ''] = /Run: (.*)$/m.exec(stderr) ?? []
  await run('sh', ['-c', command])
}
