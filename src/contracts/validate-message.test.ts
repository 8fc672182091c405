import assert from 'node:assert/strict'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { MillraceError, type Violation } from '../core/millrace-error.ts'
import type { MessageSchema } from './queue-declaration.ts'
import { validateMessage } from './validate-message.ts'

async function violationsOf(schema: MessageSchema, value: unknown): Promise<readonly Violation[]> {
  try {
    await validateMessage(schema, value)
  } catch (error) {
    assert.ok(error instanceof MillraceError)
    assert.equal(error.code, 'invalid_message')
    return error.violations
  }
  return assert.fail('the message was accepted')
}

describe('a message that fits its contract', () => {
  test('is answered as the output of the schema', async () => {
    const schema = z.object({
      at: z.string().transform((text) => text.length),
      page: z._default(z.number(), 1),
    })
    assert.deepEqual(await validateMessage(schema, { at: 'four' }), { at: 4, page: 1 })
  })

  test('may need a schema that takes its time', async () => {
    const schema = z.string().transform(async (text) => text.toUpperCase())
    assert.equal(await validateMessage(schema, 'loud'), 'LOUD')
  })

  test('is any value where there is no contract', async () => {
    const value = { any: ['thing'] }
    assert.equal(await validateMessage(undefined, value), value)
  })
})

describe('a message that does not fit', () => {
  test('is refused with the path, the kind and the expectation of every issue', async () => {
    const schema = z.object({
      key: z.string(),
      items: z.array(z.object({ size: z.number() })),
      email: z.email(),
      tier: z.enum(['lite', 'basic']),
      name: z.string().min(3),
    })
    const message = { items: [{ size: 1 }, { size: '2' }], email: 'x', tier: null, name: 'ab' }
    assert.deepEqual(await violationsOf(schema, message), [
      { field: 'message.key', given: 'nothing', allowed: 'string' },
      { field: 'message.items[1].size', given: 'a string', allowed: 'number' },
      {
        field: 'message.email',
        given: 'a string',
        allowed: 'another value (Invalid email address)',
      },
      { field: 'message.tier', given: 'null', allowed: 'one of "lite"|"basic"' },
      { field: 'message.name', given: 'a string', allowed: 'string to have >=3 characters' },
    ])
  })

  test('is named as a whole when the whole is wrong', async () => {
    const [violation] = await violationsOf(z.object({}), ['a'])
    assert.deepEqual(violation, { field: 'message', given: 'an array', allowed: 'object' })
  })

  test('is refused by a schema that takes its time, too', async () => {
    const schema = z.string().refine(async () => false, 'must be known')
    const [violation] = await violationsOf(schema, 'x')
    assert.equal(violation?.allowed, 'another value (must be known)')
  })
})

describe('the texts of a refusal', () => {
  const secret = 'pa55word'
  const schemas: Readonly<Record<string, MessageSchema>> = {
    zod: z.object({ n: z.number(), e: z.email(), u: z.union([z.number(), z.null()]) }),
    valibot: v.object({
      n: v.number(),
      e: v.pipe(v.string(), v.email()),
      u: v.union([v.number(), v.null()]),
    }),
    arktype: type({ n: 'number', e: 'string.email', u: 'number | null' }),
    unknown: {
      '~standard': {
        version: 1,
        vendor: 'someone',
        validate: () => ({ issues: [{ message: `bad: ${secret}`, path: [{ key: 'n' }] }] }),
      },
    },
  }

  test.each(Object.entries(schemas))('never quote the message (%s)', async (_vendor, schema) => {
    const violations = await violationsOf(schema, { n: secret, e: secret, u: secret })
    const violation = violations.find(({ field }) => field === 'message.n')
    assert.equal(violation?.given, 'a string')
    assert.ok(!JSON.stringify(violations).includes(secret), JSON.stringify(violations))
  })

  test('say what valibot and arktype expected', async () => {
    const allowed = await Promise.all(
      [schemas['valibot'], schemas['arktype']].map(async (schema) => {
        assert.ok(schema !== undefined)
        return (await violationsOf(schema, { n: 'x', e: 'x', u: 1 })).map((found) => found.allowed)
      }),
    )
    assert.deepEqual(allowed[0], ['number', "a value that passes 'email'"])
    assert.deepEqual(allowed[1]?.sort(), ['a number', 'an email address'])
  })
})
