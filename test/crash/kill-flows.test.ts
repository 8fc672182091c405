import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as after } from 'node:timers/promises'
import { describe, test } from 'vitest'
import { type Mill, open } from '../../src/index.ts'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { ChildProgram } from '../support/child-program.ts'
import { seed } from '../support/seed.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { type BegunMessage, press, tables } from './press.ts'

interface Scene {
  readonly mill: Mill<typeof press>
  /** What the workers have begun. */
  readonly begun: () => number
  start(concurrency: number): ChildProgram
  /** The rows of a table, as texts. */
  rows(table: string): readonly string[]
}

function inPress(purpose: string, run: (scene: Scene) => Promise<void>): Promise<void> {
  return inTemporaryFolder(purpose, async ({ path }) => {
    const mill = await open(press, { data: path, log: false })
    const file = mill.storeFile
    assert.ok(file !== null)
    const db = new DatabaseSync(file, { timeout: 10_000 })
    db.exec(tables)
    const children: ChildProgram[] = []
    let begun = 0
    try {
      await run({
        mill,
        begun: () => begun,
        start: (concurrency) => {
          const program = new URL('./press.child.ts', import.meta.url)
          const child = new ChildProgram(program, { data: path, concurrency })
          child.follow<BegunMessage>(() => {
            begun += 1
          })
          children.push(child)
          return child
        },
        rows: (table) =>
          db
            .prepare(`SELECT * FROM ${table}`)
            .all()
            .map((row) => Object.values(row).join(' '))
            .toSorted(),
      })
    } finally {
      await Promise.allSettled(children.map((child) => child.kill()))
      db.close()
      await mill.close()
    }
    assertSoundStore(file)
  })
}

/** Waits for what worker processes bring about. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await after(20)
}

const pagesOf = function* (document: string, pages: number, kills?: 'before' | 'after') {
  for (let page = 1; page <= pages; page += 1) {
    const isLast = page === pages && kills !== undefined
    yield { id: `${page}`, message: { document, page, ...(isLast && { kills }) } }
  }
}

describe('a worker that dies', () => {
  test.each(['before', 'after'] as const)(
    '%s the commit of the last unit leaves a flow that ends once',
    (kills) =>
      inPress(`last-unit-${kills}`, async ({ mill, start, rows }) => {
        const finalize = { message: { document: 'd' } }
        await mill.flows.document.open('d', { units: pagesOf('d', 4, kills), finalize })
        const { signal } = await start(1).gone()
        assert.equal(signal, 'SIGKILL')
        const flow = await mill.flows.document.read('d')
        const isCommitted = kills === 'after'
        assert.equal(flow?.status, isCommitted ? 'finalized' : 'open')
        // Settlements share commits, so the page before the last may be lost with it.
        const done = flow?.units.done ?? 0
        assert.ok(isCommitted ? done === 4 : done < 4, `${done} units are done`)
        assert.equal((await mill.queues.ends.statistics()).totals.sent, isCommitted ? 1 : 0)
        assert.equal(rows('chunk').length, 2 * done)

        start(1)
        await until(() => rows('ended').length > 0)
        await until(async () => (await mill.queues.ends.statistics()).leased === 0)
        assert.deepEqual(rows('ended'), ['d'])
        assert.equal((await mill.queues.ends.statistics()).totals.sent, 1)
        assert.equal((await mill.flows.document.read('d'))?.status, 'finalized')
        const parts = ['lower', 'upper']
        const expected = [1, 2, 3, 4].flatMap((page) => parts.map((part) => `d ${page} ${part}`))
        assert.deepEqual(rows('chunk'), expected)
      }),
  )
})

const flows = 40
const pages = 20
const kills = 6

describe(`two workers of which one is killed again and again (MILLRACE_SEED=${seed})`, () => {
  test('bring every flow and chain to one end, with the rows of each unit once', () =>
    inPress('kill-flows', async ({ mill, start, begun, rows }) => {
      const ids = Array.from({ length: flows }, (_, index) => `d-${index}`)
      for (const id of ids) {
        const finalize = { message: { document: id } }
        await mill.flows.document.open(id, { units: pagesOf(id, pages), finalize })
        await mill.chains.steps.start(id, { document: id, step: 1 })
      }
      const randomness = seededRandomness(seed)
      const workers = [start(5), start(5)]
      const work = flows * (pages + 1 + 3)
      for (let kill = 1; kill <= kills; kill += 1) {
        const due = ((kill - randomness.next() / 2) * work) / (kills + 1)
        await until(() => begun() >= due)
        const index = Math.floor(randomness.next() * 2)
        await workers[index]?.kill()
        workers[index] = start(5)
      }
      const open = async () => [
        ...(await mill.flows.document.list({ status: 'open', limit: 1_000 })).items,
        ...(await mill.chains.steps.list({ status: 'running', limit: 1_000 })).items,
      ]
      await until(async () => (await open()).length === 0)
      await until(() => rows('ended').length >= flows)

      const finalized = await mill.flows.document.list({ status: 'finalized', limit: 1_000 })
      assert.equal(finalized.items.length, flows)
      assert.equal((await mill.queues.ends.statistics()).totals.sent, flows)
      assert.deepEqual(rows('ended'), ids.toSorted())
      const written = ids.flatMap((id) =>
        Array.from({ length: pages }, (_, page) => [
          `${id} ${page + 1} lower`,
          `${id} ${page + 1} upper`,
        ]),
      )
      assert.deepEqual(rows('chunk'), written.flat().toSorted())
      assert.equal((await mill.queues.steps.statistics()).totals.sent, flows * 3)
      const steps = ids.flatMap((id) => [1, 2, 3].map((step) => `${id} ${step}`))
      assert.deepEqual(rows('stepped'), steps.toSorted())
    }))
})
