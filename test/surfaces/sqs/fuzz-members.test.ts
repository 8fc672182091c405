import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { actions } from '../../../src/surfaces/sqs-protocol/actions/index.ts'
import type { Shape } from '../../../src/surfaces/sqs-protocol/shapes.ts'
import { form, fuzzScene, jsonText } from './fuzz-scene.ts'

const names = [...actions.keys()]
/** Without the one that takes away what the others are tried on. */
const harmless = names.filter((name) => name !== 'DeleteQueue')

/** Everything in JSON that a shape does not allow, also in its depths. */
function wrongTexts(shape: Shape): readonly string[] {
  switch (shape.kind) {
    case 'string':
      return ['1', '-0', 'true', '[]', '{}', '["x"]', '{"a":"x"}']
    case 'integer':
      return ['"5"', '""', '1.5', '1e999', '-1e999', '9223372036854775808', 'true', '[5]', '{}']
    case 'boolean':
      return ['"true"', '1', '0', '[]', '{}']
    case 'blob':
      return ['1', 'true', '[]', '{}', '"*"', '"ä"', '"YQ==="', '"%00"']
    case 'list':
      return ['"x"', '1', '{}', '{"0":"x"}', ...wrongTexts(shape.item).map((text) => `[${text}]`)]
    case 'map':
      return ['"x"', '1', '[]', '[{}]', ...wrongTexts(shape.value).map((text) => `{"k":${text}}`)]
    case 'structure':
      return ['"x"', '1', 'true', '[]', ...membersWith(shape.entries)]
  }
}

function membersWith(entries: readonly (readonly [string, Shape])[]): readonly string[] {
  return entries.flatMap(([name, shape]) => wrongTexts(shape).map((text) => `{"${name}":${text}}`))
}

describe('in JSON', () => {
  test.each(names)('no member of %s may have another type', async (name) => {
    const { input } = actions.get(name) ?? assert.fail()
    const scene = await fuzzScene()
    const texts = [...wrongTexts(input), 'null']
    for (const text of texts) {
      const refusal = await scene.refusalOf(jsonText(name, text))
      assert.equal(refusal, 'SerializationException', text)
    }
    await scene.assertStillServes()
  })

  test('values of any form are answered', async () => {
    const scene = await fuzzScene()
    const members = [...new Set(names.flatMap((name) => memberNames(name)))]
    const call = fc.record({
      action: fc.constantFrom(...harmless),
      input: fc.dictionary(
        fc.constantFrom(...members),
        fc.oneof(fc.jsonValue(), hostileText, fc.constantFrom(scene.queueUrl, scene.fifoUrl)),
      ),
    })
    await fc.assert(
      fc.asyncProperty(call, async ({ action, input }) => {
        // A client that really wants to wait is no nonsense.
        const patient = { ...input, WaitTimeSeconds: 0 }
        await scene.tell(jsonText(action, JSON.stringify(patient)))
      }),
      { numRuns: 1_000 },
    )
    await scene.assertStillServes()
  })

  test('texts of any form are answered, wherever a text may stand', async () => {
    const scene = await fuzzScene()
    const call = fc.record({ action: fc.constantFrom(...harmless), seed: fc.array(hostileText) })
    await fc.assert(
      fc.asyncProperty(call, async ({ action, seed }) => {
        const { input } = actions.get(action) ?? assert.fail()
        const texts = [...seed]
        const value = { ...filled(input, texts), WaitTimeSeconds: 0, QueueUrl: scene.queueUrl }
        await scene.tell(jsonText(action, JSON.stringify(value)))
      }),
      { numRuns: 1_000 },
    )
    await scene.assertStillServes()
  })
})

function memberNames(action: string): readonly string[] {
  return actions.get(action)?.input.entries.map(([name]) => name) ?? []
}

/** A value of the right type in every place, with the given texts where there is one. */
function filled(shape: Shape, texts: string[]): object {
  const value = filledValue(shape, texts)
  return typeof value === 'object' ? value : {}
}

function filledValue(shape: Shape, texts: string[]): string | number | boolean | object {
  switch (shape.kind) {
    case 'string':
      return texts.pop() ?? 'x'
    case 'integer':
      return (texts.length % 7) - 1
    case 'boolean':
      return texts.length % 2 === 0
    case 'blob':
      return Buffer.from(texts.pop() ?? 'x').toString('base64')
    case 'list':
      return [filledValue(shape.item, texts), filledValue(shape.item, texts)]
    case 'map':
      return { [texts.pop() ?? 'k']: filledValue(shape.value, texts) }
    case 'structure':
      return Object.fromEntries(
        shape.entries.map(([name, member]) => [name, filledValue(member, texts)]),
      )
  }
}

const hostileText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '\uD800',
    '\uDC00x',
    '\uFFFE',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'All',
    'Policy',
    'RedrivePolicy',
    'nonsense',
    'nonsense.fifo',
    'String',
    'Number',
    'Binary.x',
    '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:nonsense","maxReceiveCount":"1e999"}',
    'arn:aws:sqs:us-east-1:000000000000:nonsense',
    'arn:aws:sqs:::',
    'http://',
    'http://localhost/000000000000/',
    '//evil.test/000000000000/nonsense',
    '-1',
    '1e999',
    'NaN',
    '9'.repeat(400),
    '<!DOCTYPE x [<!ENTITY a "b">]>&a;',
    ']]>',
    '../../etc',
    '%00%zz',
    "'; DROP TABLE messages; --",
    'x'.repeat(5_000),
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ maxLength: 200 }),
)

describe('in Query', () => {
  test.each(names)('every parameter of %s may hold anything', async (name) => {
    const scene = await fuzzScene()
    const { input } = actions.get(name) ?? assert.fail()
    const parameters = parametersOf(input).filter((parameter) => parameter !== 'WaitTimeSeconds')
    if (parameters.length === 0) return
    const given = fc.dictionary(fc.constantFrom(...parameters), hostileText, { maxKeys: 8 })
    await fc.assert(
      fc.asyncProperty(given, fc.boolean(), async (values, hasQueue) => {
        const queue = hasQueue ? { QueueUrl: scene.queueUrl } : {}
        const all = Object.entries({ ...values, ...queue, WaitTimeSeconds: '0' })
        const text = all.map(([key, value]) => `${key}=${encodeURIComponent(value.toWellFormed())}`)
        await scene.tell(form(`Action=${name}&${text.join('&')}`))
      }),
      { numRuns: 100 },
    )
    await scene.assertStillServes()
  })

  test.each(names)('no number of %s may be something else', async (name) => {
    const scene = await fuzzScene()
    const { input } = actions.get(name) ?? assert.fail()
    const numbers = input.entries.filter(([, { kind }]) => kind === 'integer')
    for (const [member] of numbers) {
      for (const value of ['x', '', '1.5', '1e3', '0x1', 'NaN', 'Infinity', '１', '9'.repeat(30)]) {
        const text = `Action=${name}&QueueUrl=${scene.queueUrl}&${member}=${encodeURIComponent(value)}`
        await scene.refusalOf(form(text))
      }
    }
    await scene.assertStillServes()
  })
})

/** Names as a client of the Query protocol writes them. */
function parametersOf(shape: Shape, prefix = ''): readonly string[] {
  switch (shape.kind) {
    case 'structure':
      return shape.entries.flatMap(([name, member]) => {
        const at = 'itemName' in member ? member.itemName : name
        return parametersOf(member, prefix === '' ? at : `${prefix}.${at}`)
      })
    case 'list':
      return [prefix, `${prefix}.0`, ...parametersOf(shape.item, `${prefix}.1`)]
    case 'map':
      return [
        prefix,
        `${prefix}.1.${shape.keyName}`,
        ...parametersOf(shape.value, `${prefix}.1.Value`),
      ]
    default:
      return [prefix]
  }
}
