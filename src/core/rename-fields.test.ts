import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { MillraceError } from './millrace-error.ts'
import { renameFields } from './rename-fields.ts'

const names = new Map([
  ['delayMs', 'delay'],
  ['type', '--type'],
  ['body', 'payload'],
])

describe('renamed fields', () => {
  test.each([
    ['delayMs', 'delay'],
    ['jobs[2].delayMs', 'jobs[2].delay'],
    ['body', 'payload'],
    ['body.type', 'payload.type'],
    ['other', 'other'],
    ['message.type', 'message.type'],
    ['message[2].type', 'message[2].type'],
    ['message.items[0].delayMs', 'message.items[0].delayMs'],
  ])('%s is %s for the caller', (field, expected) => {
    const error = MillraceError.invalid([{ field, given: 'a', allowed: 'b' }])
    assert.equal(renameFields(error, names).violations[0]?.field, expected)
  })
})
