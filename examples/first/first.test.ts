/** Runs every program of this folder, and checks what it prints. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { startCommand } from '../../test/support/cli-process.ts'

const folder = import.meta.dirname
const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z`

/** The lines that each program prints. */
const programs: Readonly<Record<string, readonly string[]>> = {
  queue: [
    'Refused: message.order: got a string, expected number',
    'Order 1 is done: flour.',
    'Order 2 is a dead letter.',
    'Order 3 is done: oats.',
    'Reason: out of stock.',
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
    'Pieces of ada that wait: 3.',
    'ada asks: Hello. I ordered flour. Where is it?',
    'ben asks: Are you open on Monday?',
  ],
  schedule: [
    `Tick 1 at ${time}`,
    `Tick 2 at ${time}`,
    `Tick 3 at ${time}`,
    'Paused by anna.',
    `The next nightly report is due at ${time}.`,
    String.raw`Wrote the report for \d{4}-\d\d-\d\d.`,
  ],
  inbox: [
    'Waiting: 2',
    'anna claims the refund for Ada.',
    'otto cannot claim it: anna has it.',
    'Pay 20 euros to Ada.',
    'anna claimed it',
    'anna released it: too much for me',
    'Waiting: 1',
  ],
}

/** What a worker prints about the attempts that fail on purpose. */
const failures: Readonly<Record<string, readonly RegExp[]>> = {
  job: [
    /^millrace: job RESIZE \S+ of images: attempt 1 of 3 failed, retry in \d+ms\n {2}Error: The disk was busy\.\n/,
    /^millrace: job RESIZE \S+ of images: attempt 1 of 3 failed, and there will be no retry\n {2}UnrecoverableError: Only PNG/m,
  ],
  flow: [/^millrace: message \S+ of pages: attempt 1 of 3 failed, retry in \d+ms\n/],
}

const run = (file: string, ...args: readonly string[]) =>
  startCommand(process.execPath, [join(folder, file), ...args]).ended

/** Sorted, because handlers that run in parallel print in any order. */
const linesOf = (text: string): readonly string[] => text.trimEnd().split('\n').toSorted()

describe('the first programs', () => {
  test.each(Object.entries(programs))('%s.ts prints its steps and exits', async (name, lines) => {
    const { code, stdout, stderr } = await run(`${name}.ts`)
    assert.equal(code, 0)
    const { [name]: failed = [/^$/] } = failures
    for (const report of failed) assert.match(stderr, report)
    const printed = linesOf(stdout)
    const expected = lines.toSorted()
    assert.equal(printed.length, expected.length, stdout)
    for (const [index, line] of expected.entries()) {
      const isTimed = line.includes(String.raw`\d`)
      if (isTimed) assert.match(printed[index] ?? '', new RegExp(`^${line}$`))
      else assert.equal(printed[index], line)
    }
  })

  test('are all tested, and have less than a hundred lines', async () => {
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

  test('run by name, and a wrong name prints the usage', async () => {
    const chosen = await run('main.ts', 'inbox', 'queue')
    assert.equal(chosen.code, 0)
    assert.match(chosen.stdout, /^--- inbox\.ts\nWaiting: 2\n.*\n--- queue\.ts\nRefused/s)
    const wrong = await run('main.ts', 'inbocks')
    assert.deepEqual([wrong.code, wrong.stdout], [2, ''])
    assert.equal(
      wrong.stderr,
      'Usage: npm run example:first -- [queue|job|flow|collector|schedule|inbox] ...\n',
    )
  })
})
