/** Runs every program of this folder as its README says, and checks what it prints. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { startCommand } from '../../test/support/cli-process.ts'

const folder = import.meta.dirname
const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z`

/** What each prints, line by line. */
const programs: Readonly<Record<string, readonly string[]>> = {
  queue: [
    'Refused: message.order: got a string, expected number',
    'Order 1 is done: flour.',
    'Order 2 is a dead letter.',
    'Order 3 is done: oats.',
    'Why: out of stock.',
    'Moved back: 1.',
    'Order 2 is done: a millstone.',
  ],
  job: [
    'Enqueued: created, then duplicate.',
    'Attempt 1 of mill.png',
    'Attempt 2 of mill.png',
    "completed after 2 attempts: { file: 'mill-200.png' }",
    'Attempt 1 of mill.txt',
    'failed after 1 attempt: Only PNG files can be resized.',
  ],
  flow: [
    'The flow is created, with 6 units.',
    'Opened again: duplicate, 0 units added.',
    '6 pages are printed. Binding "Mills".',
    'The flow is finalized: 6 of 6 done.',
  ],
  collector: [
    'The same piece again: duplicate.',
    'Of ada 3 pieces wait.',
    'ada asks: Hello. I ordered flour. Where is it?',
    'ben asks: Are you open on Monday?',
  ],
  schedule: [
    `Tick 1 at ${time}`,
    `Tick 2 at ${time}`,
    `Tick 3 at ${time}`,
    'Paused by anna.',
    `The next nightly report is due at ${time}.`,
    String.raw`The report of \d{4}-\d\d-\d\d is written.`,
  ],
  inbox: [
    'Waiting: 2',
    'anna has the refund of Ada.',
    'otto cannot take it: anna has it.',
    'To be paid: 20 euros to Ada.',
    'anna claimed it',
    'anna returned it: too much for me',
    'Waiting: 1',
  ],
}

const run = (file: string, ...args: readonly string[]) =>
  startCommand(process.execPath, [join(folder, file), ...args]).ended

/** Sorted where handlers run side by side, so that either order of their lines will do. */
const linesOf = (text: string): readonly string[] => text.trimEnd().split('\n').toSorted()

describe('the first programs', () => {
  test.each(Object.entries(programs))(
    '%s.ts prints what happened, and ends',
    async (name, lines) => {
      const { code, stdout, stderr } = await run(`${name}.ts`)
      assert.deepEqual([code, stderr], [0, ''])
      const printed = linesOf(stdout)
      const expected = lines.toSorted()
      assert.equal(printed.length, expected.length, stdout)
      for (const [index, line] of expected.entries()) {
        const isTimed = line.includes(String.raw`\d`)
        if (isTimed) assert.match(printed[index] ?? '', new RegExp(`^${line}$`))
        else assert.equal(printed[index], line)
      }
    },
  )

  test('are all there are, and none has a hundred lines', async () => {
    const files = await readdir(folder)
    const others = ['README.md', 'first.test.ts', 'main.ts']
    const names = files.filter((file) => !others.includes(file))
    assert.deepEqual(
      names.sort(),
      Object.keys(programs)
        .map((name) => `${name}.ts`)
        .sort(),
    )
    for (const name of names) {
      const lines = (await readFile(join(folder, name), 'utf8')).trimEnd().split('\n')
      assert.ok(lines.length < 100, name)
    }
  })

  test('start by their names, and a wrong name is one line that says which there are', async () => {
    const chosen = await run('main.ts', 'inbox', 'queue')
    assert.equal(chosen.code, 0)
    assert.match(chosen.stdout, /^--- inbox\.ts\nWaiting: 2\n.*\n--- queue\.ts\nRefused/s)
    const wrong = await run('main.ts', 'inbocks')
    assert.deepEqual([wrong.code, wrong.stdout], [2, ''])
    assert.equal(wrong.stderr, 'Expected some of: queue, job, flow, collector, schedule, inbox\n')
  })
})
