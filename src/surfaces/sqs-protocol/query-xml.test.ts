import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { action } from './action.ts'
import { structureText } from './json-text.ts'
import { answerXml, escapeXml } from './query-xml.ts'
import { blob, boolean, integer, listOf, mapOf, structure, text } from './shapes.ts'

const value = structure({ DataType: text, BinaryValue: blob })
const shape = structure({
  Name: text,
  Size: integer,
  IsLast: boolean,
  Urls: listOf('Url', text),
  Entries: listOf('Entry', structure({ Id: text })),
  Tags: mapOf('Tag', 'Key', text),
  Attributes: mapOf('Attribute', 'Name', value),
})

const full = {
  Name: 'a & b',
  Size: 5,
  IsLast: false,
  Urls: ['x', ''],
  Entries: [{ Id: '1' }, { Id: '2' }],
  Tags: { team: 'a' },
  Attributes: { bytes: { DataType: 'Binary', BinaryValue: Buffer.from([255, 0]) } },
}

const nothing = { Name: undefined, Urls: [], Entries: [], Tags: {} }

describe('an answer by its shape', () => {
  test('is XML with repeated elements for lists and maps', () => {
    const ask = action({
      name: 'Ask',
      input: structure({}),
      output: shape,
      onQueue: false,
      run: () => Promise.resolve(full),
    })
    const { body } = answerXml(ask, full, 'id')
    const [, result] = /<AskResult>(.*)<\/AskResult>/.exec(body) ?? []
    assert.equal(
      result,
      '<Name>a &amp; b</Name><Size>5</Size><IsLast>false</IsLast><Url>x</Url><Url/>' +
        '<Entry><Id>1</Id></Entry><Entry><Id>2</Id></Entry>' +
        '<Tag><Key>team</Key><Value>a</Value></Tag>' +
        '<Attribute><Name>bytes</Name><Value><DataType>Binary</DataType>' +
        '<BinaryValue>/wA=</BinaryValue></Value></Attribute>',
    )
    assert.match(answerXml(ask, nothing, 'id').body, /<AskResult\/>/)
  })

  test('is JSON without what is empty', () => {
    assert.deepEqual(JSON.parse(structureText(shape, full)), {
      ...full,
      Attributes: { bytes: { DataType: 'Binary', BinaryValue: '/wA=' } },
    })
    assert.equal(structureText(shape, nothing), '{}')
    assert.equal(structureText(shape, { Name: '', Size: 0 }), '{"Name":"","Size":0}')
  })
})

describe('text in XML', () => {
  test('cannot end its element or lose its line ends', () => {
    assert.equal(
      escapeXml(`<a b="c" d='e'>&\r\n`),
      '&lt;a b=&quot;c&quot; d=&apos;e&apos;&gt;&amp;&#xD;\n',
    )
  })

  test('has a replacement for what XML cannot hold', () => {
    assert.equal(
      escapeXml('a\0b\u0008c\u001fd\ufffee\ud800f'),
      'a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf',
    )
    assert.equal(escapeXml('\t\n \u{1f600}'), '\t\n \u{1f600}')
  })
})
