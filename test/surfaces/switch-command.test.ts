/** `millrace switch`, as an operator uses it beside running servers and workers. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { describe, test } from 'vitest'
import { type Mill, open } from '../../src/index.ts'
import { ChildProgram } from '../support/child-program.ts'
import { type Ended, runCli } from '../support/cli-process.ts'
import { type CliEnd, cliScene } from './cli/cli-scene.ts'
import { commandServers } from './command-servers.ts'
import { callApi } from './jobs-api/scene.ts'
import { type Classified, tutor } from './tutor.ts'

const onPaused = ['--name', 'LLM_PAUSED']
const classifyName = 'tutor-dev-classify'
const { serve } = commandServers('switch-serve')

interface Place {
  readonly data: string
  run(...args: readonly string[]): Promise<CliEnd>
  /** Runs it, and reads the document on stdout. */
  // biome-ignore lint/suspicious/noExplicitAny: documents of any form, looked at by assertions
  read(...args: readonly string[]): Promise<any>
}

/** A data directory that does not exist yet. */
async function newPlace(): Promise<Place> {
  const { data, run } = await cliScene()
  return {
    data,
    run: (...args) => run('switch', ...args),
    async read(...args) {
      const ended = await run('switch', ...args, '--json')
      assert.equal(ended.code, 0, ended.stderr)
      assert.equal(ended.stderr, '')
      return JSON.parse(ended.stdout)
    },
  }
}

/** A place with the store of the app in it. */
async function placeWithStore(): Promise<Place> {
  const place = await newPlace()
  await (await open(tutor, { data: place.data })).close()
  return place
}

async function startWorker({ data }: Pick<Place, 'data'>): Promise<ChildProgram> {
  const worker = new ChildProgram(new URL('./tutor.child.ts', import.meta.url), { data })
  await worker.next('ready')
  return worker
}

async function enqueue(mill: Mill<typeof tutor>, text: string): Promise<string> {
  return (await mill.jobs.enqueue('classify', 'CLASSIFY', text)).id
}

/** A refusal is one line for people, and stdout stays empty. */
function assertRefused(ended: CliEnd, code: number, line: RegExp): void {
  assert.equal(ended.code, code, ended.stderr)
  assert.match(ended.stderr, line)
  assert.equal(ended.stderr.trimEnd().split('\n').length, 1, ended.stderr)
  assert.equal(ended.stdout, '')
}

describe('a switch that the command turns', () => {
  test('stops a worker process within a second, also one that starts later, until it is lifted', async () => {
    const place = await placeWithStore()
    await using mill = await open(tutor, { data: place.data })
    const second = { timeout: '1s' } as const
    const first = await startWorker(place)
    await mill.jobs.waitFor(await enqueue(mill, 'before'))
    assert.equal((await first.next<Classified>('classified')).text, 'before')

    const command = (...args: readonly string[]): Promise<Ended> =>
      runCli(['switch', ...args], { MILLRACE_DATA: place.data })
    assert.equal((await command('hold', ...onPaused, '--by', 'anna')).code, 0)
    const held = await enqueue(mill, 'held')
    await assert.rejects(mill.jobs.waitFor(held, second), { code: 'wait_timed_out' })
    first.terminate()
    assert.equal((await first.gone()).code, 0)

    const restarted = await startWorker(place)
    await assert.rejects(mill.jobs.waitFor(held, second), { code: 'wait_timed_out' })
    assert.equal((await command('lift', ...onPaused, '--by', 'bob')).code, 0)
    const { status, attemptsMade } = await mill.jobs.waitFor(held)
    assert.deepEqual([status, attemptsMade], ['completed', 1])
    assert.equal((await restarted.next<Classified>('classified')).text, 'held')
    restarted.terminate()
    assert.equal((await restarted.gone()).code, 0)

    const { events } = await place.read('history')
    assert.deepEqual(
      events.map(({ event, by }: Record<string, string>) => [event, by]),
      [
        ['lifted', 'bob'],
        ['set', 'anna'],
      ],
    )
  })

  test('is seen by a server on the same store, and the other way round', async () => {
    const app = new URL('./tutor.ts', import.meta.url).pathname
    const { url, data } = await serve(['--app', app])
    const run = (...args: readonly string[]): Promise<Ended> =>
      runCli(['switch', ...args, '--data', data, '--json'])
    const held = await run('hold', '--queue', classifyName, '--by', 'anna')
    const { body } = await callApi(url, '/switches', {})
    assert.deepEqual(body.switches, [JSON.parse(held.stdout)])
    await callApi(url, '/switches/queue/classify', { method: 'DELETE' })
    assert.deepEqual(JSON.parse((await run('list')).stdout), { switches: [] })
  })

  test('says what it is, by whom, why and until when', async () => {
    const { read } = await placeWithStore()
    const args = ['--type', 'CLASSIFY', '--note', 'too dear', '--for', '1h30m']
    const { set_at, until, ...facts } = await read('divert', ...args)
    const mode = 'divert'
    const by = userInfo().username
    const expected = { scope: 'type', value: 'CLASSIFY', mode, by, note: 'too dear' }
    assert.deepEqual(facts, { ...expected, source: 'store' })
    assert.equal(Date.parse(until) - Date.parse(set_at), 5_400_000)
    assert.deepEqual(await read('list'), { switches: [{ ...facts, set_at, until }] })
    const lifted = { scope: 'type', value: 'CLASSIFY', lifted: true }
    assert.deepEqual(await read('lift', '--type', 'CLASSIFY', '--note', 'paid'), lifted)
    const { events } = await read('history', '--limit', '1')
    assert.deepEqual([events[0].event, events[0].by, events[0].note], ['lifted', by, 'paid'])
  })

  test('has a history in pages', async () => {
    const { read, run } = await placeWithStore()
    for (const name of ['a', 'b']) await read('hold', '--name', name)
    const { events, next } = await read('history', '--limit', '1')
    const rest = await read('history', '--after', next)
    const values = [...events, ...rest.events].map(({ value }) => value)
    assert.deepEqual([values, rest.next], [['b', 'a'], null])
    const { stdout, stderr } = await run('history', '--limit', '1')
    assert.equal(stdout.trimEnd().split('\n').length, 2, stdout)
    assert.equal(stderr, `To see more, add --after ${next}\n`)
  })

  test('is told in lines and tables for people', async () => {
    const { run } = await placeWithStore()
    assert.deepEqual((await run('list')).stderr, 'No switch is on.\n')
    const held = await run('hold', '--tenant', 'acme', '--by', 'anna', '--note', 'two\nlines')
    assert.equal(held.stdout, 'Holding tenant acme until the switch is lifted.\n')
    const [heading = '', row = '', ...others] = (await run('list')).stdout.trimEnd().split('\n')
    assert.deepEqual(heading.split(/ {2,}/), ['SCOPE', 'VALUE', 'MODE', 'BY', 'SET AT', 'NOTE'])
    assert.match(row, /^tenant {2}acme {3}hold {2}anna {2}\S+Z {2,}two\uFFFDlines$/)
    assert.deepEqual(others, [])
    assert.equal(
      (await run('lift', '--tenant', 'acme')).stdout,
      'Lifted the switch on tenant acme.\n',
    )
  })
})

describe('the command refuses', () => {
  test.each<[string, readonly string[], number, RegExp]>([
    ['no target', ['hold'], 2, /exactly one of --queue, --type, --tier, --tenant, --name/],
    ['two targets', ['lift', '--type', 'A', '--tier', 'b'], 2, /exactly one of/],
    ['an empty target', ['hold', '--type', ''], 2, /value/],
    ['an empty name', ['hold', '--type', 'A', '--by', ''], 2, /by/],
    ['two mistakes', ['hold', '--type', '', '--by', ''], 2, /value: .*; by: /],
    ['what is no duration', ['hold', '--type', 'A', '--for', 'soon'], 2, /--for.*duration/],
    ['an empty duration', ['hold', '--type', 'A', '--for', ''], 2, /--for.*duration/],
    ['no time at all', ['hold', '--type', 'A', '--for', '0s'], 2, /--for.*duration/],
    ['too long a time', ['hold', '--type', 'A', '--for', '9999d'], 2, /--for.*duration/],
    ['a time for lifting', ['lift', '--type', 'A', '--for', '1h'], 2, /unknown option '--for'/],
    ['a verb that is none', ['flip'], 2, /unknown command 'flip'/],
    ['a page size that is none', ['history', '--limit', 'x'], 2, /limit/],
    ['a place that is none', ['history', '--after', 'x'], 2, /after/],
    ['an unknown queue', ['hold', '--queue', 'nope'], 3, /The queue 'nope' does not exist/],
    ['to lift what is not on', ['lift', ...onPaused], 3, /No switch is on for name LLM_PAUSED/],
  ])('%s', async (_name, args, code, line) => {
    const { run, read } = await placeWithStore()
    assertRefused(await run(...args), code, line)
    assert.deepEqual(await read('list'), { switches: [] })
  })

  test('to divert plain messages that have nowhere to go', async () => {
    const place = await placeWithStore()
    await using mill = await open(tutor, { data: place.data })
    await mill.queues.notes.send('a note')
    const ended = await place.run('divert', '--queue', mill.queues.notes.name)
    assertRefused(ended, 1, /no dead-letter queue/)
  })

  test('to make a store where there is none', async () => {
    const { run, data } = await newPlace()
    for (const args of [['list'], ['history'], ['hold', ...onPaused], ['lift', ...onPaused]]) {
      assertRefused(await run(...args), 6, /^error: There is no store in .*data\.$/m)
    }
    assert.equal(existsSync(data), false)
  })

  test.each([
    ['an empty file', '', /There is no store/],
    ['a file of another kind', 'This is not a database.\n'.repeat(99), /not a Millrace store/],
  ])('to make a store of %s', async (_name, content, line) => {
    const { run, data } = await newPlace()
    await mkdir(data)
    await writeFile(`${data}/millrace.db`, content)
    assertRefused(await run('hold', ...onPaused), 6, line)
    assert.equal(await readFile(`${data}/millrace.db`, 'utf8'), content)
  })
})
