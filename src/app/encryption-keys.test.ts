import { randomBytes } from 'node:crypto'
import { assert, describe, it } from 'vitest'
import { type EncryptionKey, requireKeys } from './encryption-keys.ts'

const good = randomBytes(32)
const expected = 'expected 32 bytes, also in base64 or as 64 hexadecimal digits'

function refusal(keys: readonly unknown[]): string {
  try {
    requireKeys(keys as readonly EncryptionKey[])
  } catch (error) {
    return (error as Error).message
  }
  return assert.fail('accepted')
}

describe('an encryption key', () => {
  it.each([
    ['bytes', good],
    ['base64', good.toString('base64')],
    ['base64url', good.toString('base64url')],
    ['hexadecimal digits', good.toString('hex')],
  ])('may be given as %s', (_, key) => {
    assert.deepEqual(requireKeys([{ id: 'a', key }])?.[0].key, good)
  })

  it.each([
    [randomBytes(16), '16 bytes'],
    [randomBytes(16).toString('base64'), '16 bytes in base64'],
    [randomBytes(33).toString('base64'), '33 bytes in base64'],
    [randomBytes(16).toString('hex'), '32 hexadecimal digits'],
    ['correct horse battery', 'text with spaces or line breaks'],
    [`${good.toString('base64')}\n`, 'text with spaces or line breaks'],
    ['correct!horse', 'text that is neither base64 nor hexadecimal digits'],
    [`${good.toString('base64')}=`, 'text that is neither base64 nor hexadecimal digits'],
    ['', 'an empty text'],
    [undefined, 'none'],
    [null, 'none'],
    [123_456, 'a value of type number'],
    [[1, 2], 'a value of type object'],
  ])('that is wrong is described, and not shown: %j', (key, given) => {
    const message = refusal([{ id: 'a', key }])
    assert.equal(message, `encryptionKeys[0].key: got ${given}, ${expected}`)
  })

  it.each([
    [undefined, 'none'],
    ['', 'none'],
    ['x'.repeat(44), '44 characters'],
    ['a b', 'text with other characters'],
    [7, 'a value of type number'],
  ])('has an id, which is not shown either: %j', (id, given) => {
    assert.equal(
      refusal([{ id, key: good }]),
      `encryptionKeys[0].id: got ${given}, expected 1 to 32 letters, digits, _ . and -`,
    )
  })

  it('without an id in the variable is not shown', () => {
    const key = good.toString('base64')
    const read = () => requireKeys(undefined, { MILLRACE_ENCRYPTION_KEYS: key })
    assert.throws(read, /^MILLRACE_ENCRYPTION_KEYS\[0\]\.id: got none, expected 1 to 32 letters/)
  })
})
