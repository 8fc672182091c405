import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { MillraceError } from '../../../core/millrace-error.ts'
import { type AccessKey, accessKeyLookup } from './access-keys.ts'
import { credentialsFromEnvironment } from './credentials-from-environment.ts'

const secret = 'a-secret/of+20=chars'
const home = '000000000000'

function fromVariable(list: string | undefined): readonly AccessKey[] | undefined {
  return credentialsFromEnvironment({ MILLRACE_ACCESS_KEYS: list })
}

/** Whatever the error says, it must not show a secret to those who read logs. */
function refusalOf(run: () => unknown): MillraceError {
  try {
    run()
  } catch (error) {
    assert.ok(error instanceof MillraceError)
    assert.equal(error.code, 'invalid_argument')
    assert.doesNotMatch(error.message, /secret\/|short/)
    return error
  }
  assert.fail('nothing was refused')
}

describe('access keys in the environment', () => {
  test('are an id and a secret, with an account where it matters', () => {
    assert.deepEqual(fromVariable(` one:${secret} ,two:${secret}:111122223333,`), [
      { accessKeyId: 'one', secretAccessKey: secret },
      { accessKeyId: 'two', secretAccessKey: secret, account: '111122223333' },
    ])
  })

  test.each([undefined, '', ' ', ','])('are none in %j', (list) => {
    assert.equal(fromVariable(list), undefined)
  })

  test.each(['one', ':', `:${secret}`, 'one:', `one:${secret}:`, `one:${secret}:1:2`])(
    'are refused in the form %j, with the number of the entry',
    (entry) => {
      const { message } = refusalOf(() => fromVariable(`one:${secret},${entry}`))
      assert.match(
        message,
        /MILLRACE_ACCESS_KEYS, entry 2: .*expected id:secret or id:secret:account/,
      )
    },
  )
})

describe('access keys', () => {
  test('are found by their ids, in the account of the server unless they name another', () => {
    const lookup = accessKeyLookup(
      [
        { accessKeyId: 'one', secretAccessKey: secret },
        { accessKeyId: 'two', secretAccessKey: secret, account: '111122223333' },
        { accessKeyId: 'three', secretAccessKey: secret, sessionToken: 'token' },
      ],
      home,
    )
    assert.deepEqual(lookup('one'), { secretAccessKey: secret, account: home })
    assert.deepEqual(lookup('two'), { secretAccessKey: secret, account: '111122223333' })
    assert.equal(lookup('three')?.sessionToken, 'token')
    assert.equal(lookup('four'), undefined)
    assert.equal(lookup('constructor'), undefined)
  })

  test('are all refused together, without being shown', () => {
    const keys = [
      { accessKeyId: 'a/b', secretAccessKey: secret },
      { accessKeyId: 'twice', secretAccessKey: 'short' },
      { accessKeyId: 'twice', secretAccessKey: `${secret} `, account: '12' },
      { accessKeyId: '', secretAccessKey: secret, sessionToken: 'a b' },
    ]
    const { violations } = refusalOf(() => accessKeyLookup(keys, home))
    assert.deepEqual(
      violations.map(({ field }) => field),
      [
        'accessKeys[0].accessKeyId',
        'accessKeys[1].secretAccessKey',
        'accessKeys[2].accessKeyId',
        'accessKeys[2].secretAccessKey',
        'accessKeys[2].account',
        'accessKeys[3].accessKeyId',
        'accessKeys[3].sessionToken',
      ],
    )
  })

  test('are refused when a caller without types gives something else', () => {
    const keys = [{ accessKeyId: 1, secretAccessKey: ['x'.repeat(16)] }]
    // @ts-expect-error: the types allow strings only
    assert.equal(refusalOf(() => accessKeyLookup(keys, home)).violations.length, 2)
  })
})
