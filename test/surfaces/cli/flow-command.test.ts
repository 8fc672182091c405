/** `millrace flow`, as an operator uses it on a store. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { type Mill, open } from '../../../src/index.ts'
import { endOf, library, pagesOf } from '../../flows/library.ts'
import { assertRefused, type CliScene, cliScene } from './cli-scene.ts'

const strict = 'library-dev-strict'
const extraction = 'library-dev-extraction'

interface Flows extends CliScene {
  readonly mill: Mill<typeof library>
}

/** A store with a flow that is done, one that waits for units, and one that failed at a page. */
async function withFlows(): Promise<Flows> {
  const scene = await cliScene()
  const mill = await open(library, { data: scene.data })
  onTestFinished(() => mill.close())
  const finalize = endOf('d')
  await mill.flows.extraction.open('done', { units: [], finalize })
  await mill.flows.extraction.open('open', { units: pagesOf('open', 3), finalize })
  await mill.flows.extraction.mark('open', 'page-2')
  await mill.flows.strict.open('broken', { units: pagesOf('b', 2), finalize, failed: finalize })
  await mill.flows.strict.failUnit('broken', 'page-1', 'unreadable')
  return { ...scene, mill }
}

describe('flows', () => {
  test('are listed, newest first, by name, by status, in pages', async () => {
    const { read, good, run } = await withFlows()
    const { flows, next } = await read('flow', 'list')
    assert.equal(next, null)
    assert.deepEqual(
      flows.map(({ id, status }: { id: string; status: string }) => [id, status]),
      [
        ['broken', 'failed'],
        ['open', 'open'],
        ['done', 'finalized'],
      ],
    )
    const idsOf = async (...args: readonly string[]) =>
      (await read('flow', 'list', ...args)).flows.map(({ id }: { id: string }) => id)
    assert.deepEqual(await idsOf('--status', 'open'), ['open'])
    assert.deepEqual(await idsOf('--flow', 'library-dev-ext'), ['open', 'done'])
    assert.deepEqual(await idsOf('--overdue'), [])
    const page = await read('flow', 'list', '--limit', '2')
    assert.deepEqual(await idsOf('--after', page.next), ['done'])
    const [heading = '', row = ''] = (await good('flow', 'list')).split('\n')
    assert.match(heading, /^FLOW +ID +STATUS +DONE +DEAD +STOPPED AT +OPENED AT$/)
    assert.match(row, /^library-dev-strict +broken +failed +0\/2 +1 +page-1 +\S+Z$/)
    const { stderr } = await run('flow', 'list', '--limit', '2')
    assert.equal(stderr, `To see more, add --after ${page.next}\n`)
    assert.equal((await run('flow', 'list', '--flow', 'other')).stderr, 'No flows found.\n')
  })

  test('are shown one by one, with where and why they stopped', async () => {
    const { read, good } = await withFlows()
    const { opened_at, ended_at, ...view } = await read('flow', 'show', strict, 'broken')
    assert.ok(Date.parse(ended_at) >= Date.parse(opened_at))
    assert.deepEqual(view, {
      flow: strict,
      id: 'broken',
      status: 'failed',
      sealed: true,
      units: { total: 2, done: 0, dead: 1, pending: 1 },
      failure: { unit: 'page-1', reason: 'unreadable' },
      parent: null,
      spent: {},
      overdue: false,
      deadline_at: null,
    })
    const shown = await good('flow', 'show', strict, 'broken')
    assert.match(shown, /^library-dev-strict broken\nstatus {6}failed\n/)
    assert.match(shown, /\nstopped at {2}page-1\nbecause {5}unreadable\n/)
  })

  test('have units, which are listed in their order or by state', async () => {
    const { read, good } = await withFlows()
    const { units } = await read('flow', 'units', extraction, 'open')
    assert.deepEqual(
      units.map(({ unit, state, started }: { unit: string; state: string; started: boolean }) => [
        unit,
        state,
        started,
      ]),
      [
        ['page-1', 'pending', true],
        ['page-2', 'done', true],
        ['page-3', 'pending', true],
      ],
    )
    const page = await read(
      'flow',
      'units',
      extraction,
      'open',
      '--limit',
      '1',
      '--state',
      'pending',
    )
    const rest = await read(
      ...['flow', 'units', extraction, 'open', '--state', 'pending', '--after', page.next],
    )
    assert.deepEqual([rest.units.length, rest.units[0].unit, rest.next], [1, 'page-3', null])
    const shown = await good('flow', 'units', strict, 'broken', '--state', 'dead')
    assert.match(
      shown,
      /^UNIT +STATE +MARKED AT +MESSAGE ID +REASON\npage-1 +dead .* unreadable\n$/,
    )
  })

  test('are cancelled, when somebody says that it is meant', async () => {
    const { run, read, mill } = await withFlows()
    assertRefused(
      await run('flow', 'cancel', extraction, 'open'),
      4,
      /To confirm without a terminal, add --yes/,
    )
    assert.equal((await mill.flows.extraction.read('open'))?.status, 'open')
    const view = await read('flow', 'cancel', extraction, 'open', '--yes')
    assert.equal(view.status, 'cancelled')
    assertRefused(await run('flow', 'cancel', extraction, 'done', '--yes'), 1, /has ended/)
    const again = await run('flow', 'cancel', extraction, 'open')
    assert.equal(again.stdout, `${extraction} open was already cancelled at ${view.ended_at}.\n`)
    assert.equal(again.code, 0)
  })

  test('go on from where they stopped, if they remember the work', async () => {
    const { run, good, mill } = await withFlows()
    // This one remembers none.
    assertRefused(await run('flow', 'resume', strict, 'broken'), 2, /Declare it with keepWork, or/)
    const payload = { documentId: 'd', page: 1 }
    const units = [{ id: 'a', type: 'SCAN', payload }] as const
    await mill.flows.scans.open('s', { units, finalize: endOf('d') })
    await mill.flows.scans.failUnit('s', 'a', 'unreadable')
    const text = await good('flow', 'resume', 'library-dev-scans', 's')
    assert.equal(text, 'Resumed library-dev-scans s with 0 of 1 unit done.\n')
    assert.equal((await mill.flows.scans.read('s'))?.units.pending, 1)
    const sent = await mill.queues.scan.statistics()
    const again = await good('flow', 'resume', 'library-dev-scans', 's', 'a')
    const nothing = 'Nothing was done: the unit a of library-dev-scans s is waiting or running.\n'
    assert.equal(again, nothing)
    assert.deepEqual((await mill.queues.scan.statistics()).totals, sent.totals)
    assertRefused(await run('flow', 'resume', extraction, 'open'), 2, /has not stopped at a unit/)
  })
})

describe('the command refuses', () => {
  test.each<[string, readonly string[], number, RegExp]>([
    ['a flow that there is not', ['show', extraction, 'nobody'], 3, /The flow does not exist/],
    [
      'units of a flow that there is not',
      ['units', 'other', 'open'],
      3,
      /Run 'millrace flow list'/,
    ],
    [
      'to resume a unit that there is not',
      ['resume', strict, 'broken', 'x'],
      3,
      /does not exist in this flow/,
    ],
    [
      'to cancel a flow that there is not',
      ['cancel', extraction, 'x', '--yes'],
      3,
      /flow does not exist/,
    ],
    [
      'to cancel a flow that there is not, first',
      ['cancel', extraction, 'x'],
      3,
      /flow does not exist/,
    ],
    ['a status that is none', ['list', '--status', 'ready'], 2, /one of open, finalized/],
    ['a state that is none', ['units', extraction, 'open', '--state', 'x'], 2, /one of pending/],
    ['a place that is none', ['list', '--after', 'x'], 2, /after/],
    ['a missing id', ['show', extraction], 2, /missing required argument 'id'/],
  ])('%s', async (_name, args, code, line) => {
    const { run } = await withFlows()
    assertRefused(await run('flow', ...args), code, line)
  })

  test('to make a store where there is none', async () => {
    const { run } = await cliScene()
    assertRefused(await run('flow', 'list'), 6, /There is no store/)
  })
})
