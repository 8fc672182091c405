import { assert, describe, it } from 'vitest'
import { failureOf, failureText } from './failure.ts'

describe('the failure of an attempt', () => {
  it('has name, message, stack and code of the error', () => {
    const error = Object.assign(new TypeError('no such page'), { code: 'E_PAGE' })
    const { name, message, stack, code, causes } = failureOf(error)
    assert.deepEqual([name, message, code, causes], ['TypeError', 'no such page', 'E_PAGE', []])
    assert.match(stack, /^at .*failure\.test\.ts:\d+:\d+/)
    assert.notInclude(stack, 'node:internal')
  })

  it('ends its stack where the worker called the handler', () => {
    const error = new Error('x')
    error.stack =
      'Error: x\n    at scan (/a.js:1:1)\n    at JobRunner.#handle (/b.js:2:2)\n    at c'
    assert.equal(failureOf(error).stack, 'at scan (/a.js:1:1)')
    error.stack =
      'Error: x\n    at #run (/own/worker/run.js:1:1)\n    at #handle (/m/dist/worker/job-runner.js:2:2)'
    assert.equal(failureOf(error).stack, 'at #run (/own/worker/run.js:1:1)')
  })

  it('has the chain of causes, and the errors of an AggregateError', () => {
    const refused = Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED' })
    const both = new AggregateError([refused, 'a text'], 'no address answered')
    const { message, causes } = failureOf(new Error('cannot scan', { cause: both }))
    assert.equal(message, 'cannot scan')
    assert.deepEqual(
      causes.map((cause) => [cause.name, cause.message, cause.code]),
      [
        ['AggregateError', 'no address answered', undefined],
        ['Error', 'connect failed', 'ECONNREFUSED'],
        ['Error', 'a text', undefined],
      ],
    )
  })

  it('ends where causes form a circle, and after five of them', () => {
    const circle = new Error('one')
    circle.cause = new Error('two', { cause: circle })
    assert.deepEqual(
      failureOf(circle).causes.map(({ message }) => message),
      ['two'],
    )
    const errors = Array.from({ length: 9 }, (_, index) => new Error(`error ${index}`))
    assert.equal(failureOf(new AggregateError(errors, 'many')).causes.length, 5)
  })

  it('hides values and secrets in message, stack, code and causes', () => {
    const cause = Object.assign(new Error('token=abc123 of 4111-1111'), { code: '4111-1111' })
    const error = new Error('no card\n    at 4111-1111 (for anna@example.org)', { cause })
    error.stack = `${error.stack}\n    at charge (/cards/4111-1111.js:1:1)`
    const text = JSON.stringify(failureOf(error, ['4111-1111']))
    assert.notMatch(text, /4111|abc123|anna/)
    assert.include(text, 'at charge (/cards/[hidden].js:1:1)')
  })

  it('hides a value that a changed message left in the stack', () => {
    const error = new Error('no card 4111\n1111')
    error.message = 'no card'
    assert.notMatch(JSON.stringify(failureOf(error, ['4111\n1111'])), /1111/)
  })

  it('is bounded, however long the error is', () => {
    const long = (): Error => {
      const error = new Error('x"\n'.repeat(5_000))
      error.stack = `Error\n${'    at f (/a/long/path/to/a/file/of/a/program.js:1:1)\n'.repeat(500)}`
      return error
    }
    const error = long()
    error.cause = new AggregateError([long(), long(), long(), long()], 'all')
    const failure = failureOf(error)
    assert.equal(failure.stack.split('\n').length, 30)
    assert.isAtMost(JSON.stringify(failure).length, 16_384)
    assert.equal(failure.causes.length, 5)
  })

  it.each([
    ['a text', 'a text'],
    [undefined, 'A value of type undefined was thrown.'],
    [{ password: 'x' }, 'A value of type object was thrown.'],
    [new Error(''), 'An error without a message.'],
  ])('has words for anything that can be thrown: %o', (thrown, message) => {
    assert.deepInclude(failureOf(thrown), { name: 'Error', message, causes: [] })
  })

  it('survives an error whose fields cannot be read', () => {
    const error = new Error('x')
    for (const field of ['name', 'message', 'stack', 'cause', 'code']) {
      Object.defineProperty(error, field, {
        get() {
          throw new Error('not readable')
        },
      })
    }
    assert.deepInclude(failureOf(error), { name: 'Error', stack: '', causes: [] })
  })

  it('reads like an error that Node prints', () => {
    const failure = {
      name: 'Error',
      message: 'cannot scan\nthe page',
      stack: 'at scan (/a.js:1:1)\nat run (/a.js:2:1)',
      causes: [{ name: 'TypeError', message: 'fetch failed', stack: '', code: 'ECONNREFUSED' }],
    }
    assert.equal(
      failureText(failure),
      [
        'Error: cannot scan',
        '  the page',
        '    at scan (/a.js:1:1)',
        '    at run (/a.js:2:1)',
        'caused by TypeError [ECONNREFUSED]: fetch failed',
      ].join('\n'),
    )
  })
})

describe('the stack of a program in another language', () => {
  const reported = (name: string, message: string, stack: string): Error =>
    Object.assign(new Error(message), { name, stack })

  const python = [
    'Traceback (most recent call last):',
    '  File "/app/worker.py", line 6, in run',
    '    charge("4111-1111")',
    '  File "/app/worker.py", line 3, in charge',
    '    raise ValueError(f"no card {card}")',
    'ValueError: no card 4111-1111',
    '',
    'The above exception was the direct cause of the following exception:',
    '',
    'Traceback (most recent call last):',
    '  File "/app/worker.py", line 9, in <module>',
    '    run()',
    '    ^^^^^',
    'RuntimeError: cannot charge',
    '',
  ]

  it('is kept of Python, with its indentation and without what is secret', () => {
    const error = reported('RuntimeError', 'cannot charge', python.join('\n'))
    const { stack, message } = failureOf(error, ['4111-1111'])
    assert.equal(message, 'cannot charge')
    const expected = python.filter((line) => line !== '').join('\n')
    assert.equal(stack, expected.replaceAll('4111-1111', '[hidden]'))
  })

  it('is kept of Python if the message is short, or quotes frames of JavaScript', () => {
    const short = reported('KeyError', 'a', 'Traceback (most recent call last):\n  File "/a.py"')
    assert.equal(failureOf(short).stack, 'Traceback (most recent call last):\n  File "/a.py"')
    const message = 'node failed: Error: x\n    at run (/a.js:1:1)'
    const stack = `Traceback (most recent call last):\n  File "/a.py", line 1\nOSError: ${message}`
    assert.equal(failureOf(reported('OSError', message, stack)).stack, stack)
  })

  it('is kept of Go, with the paths of modules', () => {
    const stack = [
      'goroutine 1 [running]:',
      'runtime/debug.Stack()',
      '\t/usr/local/go/src/runtime/debug/stack.go:24 +0x65',
      'github.com/acme/scan.Read(...)',
      '\t/go/pkg/mod/github.com/acme/scan@v1.2.3/read.go:12',
      'main.main()',
      '\t/app/main.go:12 +0x1d',
    ].join('\n')
    const kept = failureOf(reported('error', 'no page 3', stack)).stack
    assert.equal(kept, stack.replaceAll('\t', '    '))
  })

  it('is kept of Java, with its causes and without its message', () => {
    const frames = [
      '\tat Scan.read(Scan.java:2)',
      '\tat java.base/java.lang.reflect.Method.invoke(Method.java:569)',
      'Caused by: java.io.IOException: token=abc123 refused',
      '\tat Scan.open(Scan.java:3)',
      '\t... 9 more',
    ]
    const stack = ['java.lang.IllegalStateException: no page 3', ...frames].join('\r\n')
    const kept = failureOf(reported('IllegalStateException', 'no page 3', stack)).stack
    const expected = frames.join('\n').replaceAll('\t', '    ')
    assert.equal(kept, expected.replace('abc123', '[hidden]'))
  })

  it('is empty if only the message was reported', () => {
    assert.equal(failureOf(reported('ValueError', 'a\nb', 'ValueError: a\nb')).stack, '')
    assert.equal(failureOf(reported('Error', '', 'Error')).stack, '')
  })

  it('keeps both ends of a long one, because the error is at the end in some languages', () => {
    const calls = Array.from({ length: 1_000 }, (_, at) => `  File "/a.py", line ${at}\n    f()`)
    const stack = ['Traceback (most recent call last):', ...calls, 'RecursionError: deep']
    const kept = failureOf(reported('RecursionError', 'deep', stack.join('\n'))).stack.split('\n')
    assert.equal(kept[0], 'Traceback (most recent call last):')
    assert.equal(kept[1], '  File "/a.py", line 0')
    assert.deepEqual(kept.slice(-3), [
      '  File "/a.py", line 999',
      '    f()',
      'RecursionError: deep',
    ])
    assert.equal(kept.length, 61)
    assert.include(kept, '… 1942 lines left out …')
  })

  it('is bounded and cleaned, however long its lines are', () => {
    const secret = 'topsecret'.repeat(50)
    const line = `File "${'x"'.repeat(200)}" ${secret} Bearer ${'abcdefgh'.repeat(20)}`
    const texts = [Array.from({ length: 300 }, () => line).join('\n'), line.repeat(100)]
    for (const text of texts) {
      const failure = failureOf(reported('Error', 'long', text), [secret])
      const json = JSON.stringify(failure)
      assert.notMatch(json, /topsecret|abcdefgh/)
      assert.isAtMost(json.length, 16_384)
      assert.isAtLeast(failure.stack.length, 100)
    }
  })
})
