import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  formatTraceHeader,
  formatTraceparent,
  parseTraceHeader,
  parseTraceparent,
  traceCarrierOf,
  traceHeaderOf,
} from './trace-context.ts'

const traceId = '5759e988bd862e3fe1be46a994272793'
const spanId = '53995c3f42cd8ad8'
const traceparent = `00-${traceId}-${spanId}-01`
const header = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1'

describe('a traceparent', () => {
  test('is read and written', () => {
    const parsed = parseTraceparent(traceparent)
    assert.deepEqual(parsed, { traceId, spanId, isSampled: true })
    assert.equal(parsed && formatTraceparent(parsed), traceparent)
    assert.equal(parseTraceparent(`00-${traceId}-${spanId}-00`)?.isSampled, false)
  })

  test.each([`01-${traceId}-${spanId}-03`, `cc-${traceId}-${spanId}-01-what-comes-next`])(
    'of a later version is read: %s',
    (text) => {
      assert.deepEqual(parseTraceparent(text), { traceId, spanId, isSampled: true })
    },
  )

  test.each([
    '',
    'traceparent',
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-01-more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId}0-${spanId}-01`,
    ` ${traceparent}`,
  ])('is ignored if it is not valid: %j', (text) => {
    assert.equal(parseTraceparent(text), undefined)
  })
})

describe('a header of X-Ray', () => {
  test('is read and written', () => {
    assert.deepEqual(parseTraceHeader(header), { traceId, spanId, isSampled: true })
    assert.equal(formatTraceHeader({ traceId, spanId, isSampled: true }), header)
    assert.match(formatTraceHeader({ traceId, spanId, isSampled: false }), /;Sampled=0$/)
  })

  test.each([
    [`Sampled=1; Parent=${spanId.toUpperCase()}; Root=1-5759e988-${traceId.slice(8)}`, true],
    [`${header};Lineage=a87bd80c:1|68fd508a:5`, true],
    [header.replace('Sampled=1', 'Sampled=?'), false],
    [header.replace(';Sampled=1', ''), false],
  ])('may have its fields in any order: %s', (text, isSampled) => {
    assert.deepEqual(parseTraceHeader(text), { traceId, spanId, isSampled })
  })

  test.each([
    '',
    'Root=1-5759e988-bd862e3fe1be46a994272793',
    'Root=2-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8',
    'Root=1-short-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8',
    ';;;=',
  ])('that names no span is ignored: %j', (text) => {
    assert.equal(parseTraceHeader(text), undefined)
  })
})

describe('the trace context of a message', () => {
  const text = (value: string): { type: string; value: string } => ({ type: 'String', value })

  test('is what was stored beside it, then its attributes, then the header', () => {
    const other = `00-${traceId}-${'1'.repeat(16)}-01`
    const attributes = { traceparent: text(other), tracestate: text('a=b'), baggage: text('c=d') }
    const systemAttributes = { traceparent, AWSTraceHeader: header, SenderId: 'me' }
    assert.deepEqual(traceCarrierOf({ attributes, systemAttributes }), { traceparent })
    assert.deepEqual(traceCarrierOf({ attributes, systemAttributes: { AWSTraceHeader: header } }), {
      ...{ traceparent: other, tracestate: 'a=b', baggage: 'c=d' },
    })
    assert.deepEqual(
      traceCarrierOf({ attributes: {}, systemAttributes: { AWSTraceHeader: header } }),
      { traceparent },
    )
  })

  test('is missing if nothing of that is valid', () => {
    const attributes = { traceparent: { type: 'Binary', value: new Uint8Array([1]) } }
    const systemAttributes = { traceparent: 'x', AWSTraceHeader: 'y' }
    assert.equal(traceCarrierOf({ attributes, systemAttributes }), undefined)
    assert.equal(traceCarrierOf({ attributes: {}, systemAttributes: {} }), undefined)
  })

  test('is given to SQS clients as a header, unless one was sent', () => {
    assert.equal(traceHeaderOf({ traceparent }), header)
    assert.equal(traceHeaderOf({ traceparent, AWSTraceHeader: 'Root=1-x' }), 'Root=1-x')
    assert.equal(traceHeaderOf({ traceparent: 'x' }), undefined)
    assert.equal(traceHeaderOf({}), undefined)
  })
})
