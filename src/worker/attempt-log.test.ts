import { assert, describe, it } from 'vitest'
import type { LogFields } from '../observability/logger.ts'
import { AttemptLog, keepingLogger, keptLines } from './attempt-log.ts'

const nothing = (): void => undefined

function scene(hide: readonly string[] = []) {
  let now = 100
  const kept = new AttemptLog(() => now++)
  const passed: (readonly [LogFields, string])[] = []
  const info = (fields: LogFields, message: string): void => void passed.push([fields, message])
  const log = keepingLogger({ debug: nothing, info, warn: info, error: info }, kept, () => hide)
  return { kept, log, passed }
}

describe('the log of an attempt', () => {
  it('keeps lines with time, level and fields, and passes them on', () => {
    const { kept, log, passed } = scene()
    log.info({ page: 3, isLast: false, none: null, missing: undefined }, 'scanned')
    log.warn({}, 'slow')
    assert.deepEqual(kept.take(), [
      {
        at: 100,
        level: 'info',
        message: 'scanned',
        fields: { page: 3, isLast: false, none: null },
      },
      { at: 101, level: 'warn', message: 'slow', fields: {} },
    ])
    assert.equal(kept.take(), undefined)
    assert.deepEqual(
      passed.map(([, message]) => message),
      ['scanned', 'slow'],
    )
  })

  it('hides the values of the contract, in what it keeps and in what it passes on', () => {
    const { kept, log, passed } = scene(['4111-1111', '80861'])
    log.info({ card: '4111-1111', pin: 80_861, page: 3 }, 'charge 4111-1111')
    const fields = { card: '[hidden]', pin: '[hidden]', page: 3 }
    assert.deepEqual(passed, [[fields, 'charge [hidden]']])
    assert.deepInclude(kept.take()?.[0], { message: 'charge [hidden]', fields })
  })

  it('keeps nothing that looks like a secret', () => {
    const { kept, log } = scene()
    log.info({ to: 'anna@example.org' }, 'password=hunter2')
    const text = JSON.stringify(kept.take())
    assert.notMatch(text, /hunter2|anna/)
  })

  it('keeps no value of a field whose name says that it is secret', () => {
    const { kept, log } = scene()
    const given = {
      password: 'hunter2xyz',
      token: 'abc',
      dbPassword: 'correct horse',
      'X-Api-Key': 'k 1',
      AWS_SECRET_ACCESS_KEY: 'k/2',
      pin_token: 80_861,
      headers: { authorization: 'Digest a b', list: [{ clientSecret: 'x y' }] },
    }
    log.info(given as unknown as LogFields, 'signed in')
    const hidden = '[hidden]'
    assert.deepEqual(kept.take()?.[0]?.fields, {
      password: hidden,
      token: hidden,
      dbPassword: hidden,
      'X-Api-Key': hidden,
      AWS_SECRET_ACCESS_KEY: hidden,
      pin_token: hidden,
      headers: '{"authorization":"[hidden]","list":[{"clientSecret":"[hidden]"}]}',
    })
  })

  it('keeps fields that only look like secret ones', () => {
    const { kept, log } = scene()
    const fields = { tokens: 1_200, tokenType: 'bearer', compass: 'north', hasPassword: true }
    log.info(fields, 'counted')
    assert.deepEqual(kept.take()?.[0]?.fields, fields)
  })

  it('keeps errors and objects as text, and a message alone', () => {
    const { kept, log } = scene()
    const circle: { self?: object } = {}
    circle.self = circle
    const given = { err: new TypeError('no page'), list: [1, 2], circle, big: 10n }
    log.error(given as unknown as LogFields, 'broken')
    log.info('only text' as unknown as LogFields, undefined as unknown as string)
    const [first, second] = kept.take() ?? []
    assert.deepEqual(first?.fields, {
      err: 'TypeError: no page',
      list: '[1,2]',
      circle: 'object',
      big: 'bigint',
    })
    assert.equal(second?.message, 'only text')
  })

  it('bounds a line', () => {
    const { kept, log } = scene()
    log.info({ long: 'y'.repeat(5_000), more: 1 }, 'x'.repeat(500))
    log.info({ long: 'y' }, 'x'.repeat(5_000))
    for (const line of kept.take() ?? []) {
      assert.isAtMost(line.message.length, keptLines.lineLengthMax)
      assert.isAtMost(line.message.length + JSON.stringify(line.fields).length, 1_100)
    }
  })

  it('bounds the lines of an attempt, and counts what it drops', () => {
    const { kept, log } = scene()
    for (let line = 0; line < keptLines.linesMax + 7; line += 1) log.info({}, `line ${line}`)
    const lines = kept.takeLast() ?? []
    assert.equal(lines.length, keptLines.linesMax + 1)
    assert.equal(lines.at(-2)?.message, 'line 99')
    assert.deepInclude(lines.at(-1), { level: 'warn', message: '7 more lines not kept' })
  })

  it('bounds them by length, also across reports of progress', () => {
    const { kept, log } = scene()
    for (let line = 0; line < 20; line += 1) log.info({}, 'x'.repeat(1_024))
    const first = kept.take() ?? []
    for (let line = 0; line < 20; line += 1) log.info({}, 'x'.repeat(1_024))
    const rest = kept.takeLast() ?? []
    const length = JSON.stringify([...first, ...rest]).length
    assert.isAtMost(length, 40_000)
    assert.match(rest.at(-1)?.message ?? '', /^\d+ more lines not kept$/)
  })

  it('keeps the order of lines that are put back', () => {
    const { kept, log } = scene()
    log.info({}, 'first')
    const taken = kept.take() ?? []
    log.info({}, 'second')
    kept.putBack(taken)
    assert.deepEqual(
      kept.take()?.map(({ message }) => message),
      ['first', 'second'],
    )
  })
})
