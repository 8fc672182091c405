/** Opening, drawing and reading real files. */
import assert from 'node:assert/strict'
import { deflateRawSync } from 'node:zlib'
import { loadImage } from '@napi-rs/canvas'
import { describe, test } from 'vitest'
import { millChapters, sampleDocx, samplePdf } from '../demo/sample-files.ts'
import { BadDocument } from '../stages/bad-document.ts'
import { runParse } from '../stages/run-parse.ts'
import { runRender } from '../stages/run-render.ts'
import { runStructure } from '../stages/run-structure.ts'
import { openSource } from '../stages/source-document.ts'
import type { SourceExt } from '../stages/source-types.ts'
import { unpackedBytes } from '../stages/unpacked-bytes.ts'
import { encryptedPdf } from './encrypted-pdf.ts'

async function structureOf(content: Uint8Array, ext: SourceExt) {
  await using source = await openSource(content, ext)
  return runStructure(await runParse(source))
}

describe('a PDF', async () => {
  const pdf = await samplePdf(millChapters)

  test('is drawn, page by page, as PNG images of its size', async () => {
    await using source = await openSource(pdf, 'pdf')
    const sizes: number[][] = []
    for await (const { page, png, width, height } of runRender(source)) {
      const image = await loadImage(Buffer.from(png))
      assert.deepEqual([image.width, image.height], [width, height])
      sizes.push([page, width, height])
    }
    assert.deepEqual(sizes, [
      [1, 893, 1263],
      [2, 893, 1263],
      [3, 893, 1263],
    ])
  })

  test('gets headings from font sizes, and paragraphs from lines', async () => {
    const { sections, atoms } = await structureOf(pdf, 'pdf')
    assert.deepEqual(
      sections.map(({ title, level, page }) => [title, level, page]),
      millChapters.map(({ title }, index) => [title, 1, index + 1]),
    )
    const [wheel] = millChapters
    const texts = atoms.filter(({ section }) => section === 0).map(({ kind, text }) => [kind, text])
    assert.deepEqual(texts, [
      ['heading', wheel?.title],
      ...(wheel?.paragraphs ?? []).map((text) => ['paragraph', text]),
      ...(wheel?.list ?? []).map((text) => ['list_item', `- ${text}`]),
    ])
  })
})

describe('a DOCX', async () => {
  const docx = await sampleDocx(millChapters)

  test('keeps the headings, lists and tables of the author', async () => {
    const { sections, atoms } = await structureOf(docx, 'docx')
    assert.deepEqual(
      sections.map(({ title, level, page }) => [title, level, page]),
      // Each chapter begins with a page break.
      millChapters.map(({ title }, index) => [title, 1, index + 1]),
    )
    const stones = atoms.filter(({ section }) => section === 1)
    assert.deepEqual(
      stones.filter(({ kind }) => kind === 'table_row').map(({ text }) => text),
      ['Grain | Fine flour | Bran', 'Wheat | 72 | 18', 'Rye | 65 | 20'],
    )
    assert.deepEqual(
      atoms.filter(({ kind }) => kind === 'list_item').map(({ text }) => text),
      millChapters[0]?.list,
    )
  })

  test('gets page images that are drawn from its text', async () => {
    const long = [
      { title: 'Long', paragraphs: Array(60).fill('A line of the long text. '.repeat(8)) },
    ]
    await using source = await openSource(await sampleDocx(long), 'docx')
    assert.ok(source.pages >= 3, `${source.pages} pages`)
    const last = await source.draw(source.pages)
    const { width, height } = await loadImage(Buffer.from(last.png))
    assert.deepEqual([width, height], [last.width, last.height])
    // A page with text has a larger PNG than an empty page.
    assert.ok(last.png.byteLength > 5_000)
    const atoms = await runParse(source)
    assert.equal(atoms.length, 61)
    assert.equal(atoms.at(-1)?.page, source.pages)
  })
})

describe('a file that cannot be used', () => {
  const text = (content: string): Uint8Array => new TextEncoder().encode(content)

  test.each<[string, SourceExt, () => Promise<Uint8Array> | Uint8Array, string]>([
    ['empty', 'pdf', () => new Uint8Array(), 'empty_file'],
    ['protected by a password', 'pdf', () => encryptedPdf('secret'), 'encrypted'],
    ['a PDF by its first bytes only', 'pdf', () => text('%PDF-1.7\nnothing else'), 'broken'],
    ['a text', 'pdf', () => text('Dear reader'), 'wrong_type'],
    ['a PDF that is called DOCX', 'docx', () => samplePdf(millChapters), 'wrong_type'],
    ['a DOCX that is called PDF', 'pdf', () => sampleDocx(millChapters), 'wrong_type'],
    ['a ZIP by its first bytes only', 'docx', () => text('PK\x03\x04 and no more'), 'broken'],
    [
      'a DOCX that was cut off',
      'docx',
      async () => (await sampleDocx(millChapters)).slice(0, 900),
      'broken',
    ],
    [
      'a DOCX that unpacks to gigabytes',
      'docx',
      async () => inflated(await sampleDocx(millChapters)),
      'unpacks_too_large',
    ],
    [
      'a DOCX with too much text',
      'docx',
      () => zipOf(Buffer.alloc(33 * 2 ** 20, ' ')),
      'unpacks_too_large',
    ],
    ['a DOCX that declares less than it unpacks to', 'docx', () => zipOf(blank, 100), 'broken'],
    ['without text', 'pdf', () => samplePdf([{ title: '', paragraphs: [] }]), 'no_text'],
  ])('because it is %s fails with the reason', async (_what, ext, make, reason) => {
    const content = await make()
    await assert.rejects(structureOf(content, ext), (error) => {
      assert.ok(error instanceof BadDocument, String(error))
      assert.equal(error.reason, reason)
      return true
    })
  })

  test('is unpacked only up to the declared size', async () => {
    const limit = 2 ** 30
    const size = { all: blank.byteLength, xml: blank.byteLength }
    assert.deepEqual(await unpackedBytes(zipOf(blank), limit), size)
    assert.equal(await unpackedBytes(zipOf(blank, 100), limit), undefined)
    assert.equal(await unpackedBytes(zipOf(blank, blank.byteLength + 1), limit), undefined)
    const cut = zipOf(blank)
    cut.writeUInt32LE(cut.byteLength, cut.indexOf('PK\x01\x02', 0, 'latin1') + 42)
    assert.equal(await unpackedBytes(cut, limit), undefined)
  })

  test('opens if its password is empty', async () => {
    await using source = await openSource(encryptedPdf(''), 'pdf')
    assert.equal(source.pages, 1)
  })
})

const blank = Buffer.alloc(2 ** 20, ' ')

/** A ZIP file with one entry, whose directory declares the given size. */
function zipOf(content: Buffer, declaredBytes: number = content.byteLength): Buffer {
  const name = Buffer.from('word/document.xml')
  const packed = deflateRawSync(content)
  const header = Buffer.alloc(30)
  header.write('PK\x03\x04', 'latin1')
  header.writeUInt16LE(8, 8)
  header.writeUInt32LE(packed.byteLength, 18)
  header.writeUInt32LE(declaredBytes, 22)
  header.writeUInt16LE(name.byteLength, 26)
  const entry = Buffer.alloc(46)
  entry.write('PK\x01\x02', 'latin1')
  entry.writeUInt16LE(8, 10)
  entry.writeUInt32LE(packed.byteLength, 20)
  entry.writeUInt32LE(declaredBytes, 24)
  entry.writeUInt16LE(name.byteLength, 28)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(header.byteLength + name.byteLength + packed.byteLength, 16)
  return Buffer.concat([header, name, packed, entry, name, end])
}

/** The same file, whose directory declares 4 GB for its first entry. */
function inflated(file: Uint8Array): Uint8Array {
  const copy = Buffer.from(file)
  const entry = copy.indexOf(Buffer.from('PK\x01\x02', 'latin1'))
  copy.writeUInt32LE(0xfffffff0, entry + 24)
  return copy
}
