import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { complaints } from '../../test/support/complaints.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { contractOf, jobContractOf } from './contract-of.ts'
import { jobs } from './jobs-declaration.ts'
import { fifo, type QueueOptions, queue } from './queue-declaration.ts'
import { validateMessage } from './validate-message.ts'

const Note = z.object({ id: z.string(), note: z.string().optional() })

async function refusalOf(message: unknown, schema = contractOf(declared)): Promise<string> {
  try {
    await validateMessage(schema, message)
  } catch (error) {
    assert.ok(error instanceof MillraceError)
    assert.equal(error.code, 'invalid_message')
    return error.message
  }
  return 'accepted'
}

const declared = queue({ schema: Note, noPersonalData: true })

describe('a contract without personal data', () => {
  test('names the path and the kind of what it refuses, and never the value', async () => {
    const text = await refusalOf({ id: 'a-1', note: 'ana@example.com', first_name: 'Ana' })
    assert.equal(
      text,
      'message.note: got a string, expected no e-mail address: this contract allows no personal data\n' +
        "message.first_name: got a string, expected no field named like a person's name: " +
        'this contract allows no personal data',
    )
  })

  test('does not name a key that is itself personal', async () => {
    const text = await refusalOf({ id: 'a-1', votes: { 'ana@example.com': 1 } })
    assert.match(text, /^message\.votes: got an object, expected no e-mail address or phone/)
  })

  test('looks at fields that the schema would drop', async () => {
    assert.match(
      await refusalOf({ id: 'a-1', extra: { phone: '345 6789' } }),
      /^message\.extra\.phone/,
    )
  })

  test('holds what passes against the schema, and answers its output', async () => {
    assert.match(await refusalOf({ id: 5 }), /^message\.id: got a number, expected string$/)
    assert.deepEqual(await validateMessage(contractOf(declared), { id: 'a-1', more: 1 }), {
      id: 'a-1',
    })
  })

  test('works where there is no schema, and on FIFO queues', async () => {
    for (const open of [queue({ noPersonalData: true }), fifo({ noPersonalData: true })]) {
      assert.match(await refusalOf(['a@b.com'], contractOf(open)), /^message\[0\]/)
      assert.deepEqual(await validateMessage(contractOf(open), { id: 1 }), { id: 1 })
    }
  })

  test('is not there unless it is asked for', async () => {
    assert.equal(contractOf(queue({ schema: Note })), Note)
    assert.equal(contractOf(queue({ schema: Note, noPersonalData: false })), Note)
  })
})

describe('the contract of a job type', () => {
  const message = { id: 'a-1', note: 'a@b.com' }

  test('follows its queue, unless it says otherwise', async () => {
    const types = { MAIL: { schema: Note, noPersonalData: false }, GRADE: { schema: Note } }
    const careful = jobs({ types, noPersonalData: true })
    assert.equal(await refusalOf(message, jobContractOf(careful, types.MAIL)), 'accepted')
    assert.match(await refusalOf(message, jobContractOf(careful, types.GRADE)), /^message\.note/)
    const strict = { schema: Note, noPersonalData: true }
    const open = jobs({ types: { GRADE: strict } })
    assert.match(await refusalOf(message, jobContractOf(open, strict)), /^message\.note/)
  })
})

test('a setting that is neither true nor false is refused with the app', () => {
  // What TypeScript would refuse.
  const options = { noPersonalData: 'yes' } as unknown as QueueOptions
  const types = { GRADE: { schema: Note, noPersonalData: 1 as unknown as boolean } }
  assert.deepEqual(complaints('tutor', { queues: { a: queue(options), b: jobs({ types }) } }), [
    "queues.a.noPersonalData: got 'yes', expected true or false",
    'queues.b.types.GRADE.noPersonalData: got 1, expected true or false',
  ])
})
