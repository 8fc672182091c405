import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { jobs } from '../contracts/jobs-declaration.ts'
import { queue } from '../contracts/queue-declaration.ts'
import { messageCodec } from './message-codec.ts'

const Grade = z.object({ id: z.uuid(), at: z.iso.datetime().transform((text) => new Date(text)) })
const grade = messageCodec(queue({ schema: Grade, noPersonalData: true }))
const id = 'f4a4e1de-6a0e-4a4e-8c51-0a4c0d2f9a11'

describe('a message codec', () => {
  test('gives the body of a message, and the message of a body', async () => {
    const body = await grade.encode({ id, at: '2026-01-31T09:30:00Z' })
    assert.equal(body, `{"id":"${id}","at":"2026-01-31T09:30:00Z"}`)
    const { at } = await grade.decode(body)
    assert.equal(at.getUTCFullYear(), 2026)
  })

  test('refuses what does not fit, in both directions', async () => {
    const at = '2026-01-31T09:30:00Z'
    const refused = { code: 'invalid_message' }
    await assert.rejects(grade.encode({ id: 'x', at }), refused)
    await assert.rejects(grade.decode(`{"id":"x","at":"${at}"}`), refused)
    await assert.rejects(grade.decode('{"id":'), refused)
  })

  test('refuses personal data, in both directions, without quoting it', async () => {
    const message = { id, at: '2026-01-31T09:30:00Z', student_name: 'Ana Perez' }
    for (const refusing of [grade.encode(message), grade.decode(JSON.stringify(message))]) {
      await assert.rejects(refusing, (error: Error) => {
        assert.match(error.message, /^message\.student_name: got a string/)
        return !error.message.includes('Ana')
      })
    }
  })

  test("is not for queues of jobs, whose messages are Millrace's own", () => {
    assert.throws(() => messageCodec(jobs({ types: { GRADE: Grade } })), {
      code: 'invalid_argument',
    })
  })
})
