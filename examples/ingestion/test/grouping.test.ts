/** From atoms to chunks: units, the offline extractor, and the use of groupings. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { offlineExtractor } from '../extractor/offline-extractor.ts'
import type { Atom, AtomKind, RawAtom, Unit } from '../stages/document-model.ts'
import { chunksOf, runExtract } from '../stages/run-extract.ts'
import { runStructure } from '../stages/run-structure.ts'
import { runUnits, unitsMax } from '../stages/run-units.ts'

const atom = (index: number, text: string, kind: AtomKind = 'paragraph', section = 0): Atom => ({
  index,
  page: 1 + Math.floor(index / 10),
  kind,
  text,
  section,
})
const unit = (...atoms: readonly Atom[]): Unit => ({ id: 'unit-0001', index: 0, path: [], atoms })
const raw = (kind: AtomKind, text: string, level?: number): RawAtom => ({
  page: 1,
  kind,
  text,
  ...(level !== undefined && { level }),
})

describe('structure', () => {
  test('nests sections by the levels of their headings', () => {
    const { sections, atoms } = runStructure([
      raw('paragraph', 'Before everything'),
      raw('heading', 'A', 1),
      raw('heading', 'A.1', 2),
      raw('paragraph', 'text'),
      raw('heading', 'A.2', 2),
      raw('heading', 'B', 1),
    ])
    assert.deepEqual(
      sections.map(({ title, level, parent }) => [title, level, parent]),
      [
        ['', 0, null],
        ['A', 1, null],
        ['A.1', 2, 1],
        ['A.2', 2, 1],
        ['B', 1, null],
      ],
    )
    assert.deepEqual(
      atoms.map(({ section }) => section),
      [0, 1, 2, 2, 3, 4],
    )
  })
})

describe('units', () => {
  test('contain every atom once, in order, and begin at headings if possible', () => {
    const paragraph = 'A sentence of some length. '.repeat(40).trim()
    const atoms = Array.from({ length: 60 }, (_, index) =>
      raw(index % 6 === 0 ? 'heading' : 'paragraph', index % 6 === 0 ? `H${index}` : paragraph, 1),
    )
    const units = runUnits(runStructure(atoms))
    assert.deepEqual(
      units.flatMap((one) => one.atoms.map(({ index }) => index)),
      atoms.map((_, index) => index),
    )
    assert.deepEqual(units.map(({ id }) => id).slice(0, 2), ['unit-0001', 'unit-0002'])
    assert.ok(units.every((one) => one.atoms[0]?.kind === 'heading'))
    assert.deepEqual(units[1]?.path, [units[1]?.atoms[0]?.text])
  })

  test('get larger instead of more than a thousand', () => {
    const long = 'x'.repeat(2_000)
    const atoms = Array.from({ length: 10_000 }, () => raw('paragraph', long))
    const units = runUnits(runStructure(atoms))
    assert.ok(units.length <= unitsMax && units.length > unitsMax / 4, `${units.length} units`)
  })
})

describe('chunks', () => {
  test('consist of the atoms, whatever a model returns', () => {
    const chunks = chunksOf(unit(atom(3, 'a'), atom(4, 'b'), atom(5, 'c'), atom(6, 'd')), [
      { atoms: [4, 3], title: 'first', confidence: 0.9 },
      { atoms: [4, 999], title: 'has nothing of its own', confidence: 0.9 },
      { atoms: [5], title: '', confidence: 0.5 },
    ])
    assert.deepEqual(
      chunks.map(({ ordinal, title, content, confidence }) => [
        ordinal,
        title,
        content,
        confidence,
      ]),
      [
        [0, 'first', 'a\nb', 0.9],
        [1, 'c', 'c', 0.5],
        // No grouping mentioned it, so it is kept with a low confidence.
        [2, 'd', 'd', 0.3],
      ],
    )
  })

  test('with the same content have the same hash, and are all kept', () => {
    const refrain = 'Turn, wheel, turn.'
    const chunks = chunksOf(unit(atom(0, refrain), atom(1, refrain)), [
      { atoms: [0], title: 'once', confidence: 1 },
      { atoms: [1], title: 'again', confidence: 1 },
    ])
    assert.equal(chunks.length, 2)
    assert.equal(chunks[0]?.contentHash, chunks[1]?.contentHash)
  })

  test('have the range of their pages', () => {
    const [chunk] = chunksOf(unit(atom(9, 'a'), atom(10, 'b')), [
      { atoms: [9, 10], title: '', confidence: 1 },
    ])
    assert.deepEqual([chunk?.pageFrom, chunk?.pageTo], [1, 2])
  })
})

describe('the offline extractor', () => {
  test('separates sections and keeps a list with its introduction, deterministically', async () => {
    const given = unit(
      atom(0, 'The wheel', 'heading', 0),
      atom(1, 'Check:', 'paragraph', 0),
      atom(2, '- the brake', 'list_item', 0),
      atom(3, '- the gate', 'list_item', 0),
      atom(4, 'The stones', 'heading', 1),
      atom(5, 'They turn.', 'paragraph', 1),
    )
    const options = { model: 'any' }
    const { chunks, extraction } = await runExtract(given, offlineExtractor, options)
    assert.deepEqual(
      chunks.map(({ title, content }) => [title, content]),
      [
        ['The wheel', 'The wheel\nCheck:\n- the brake\n- the gate'],
        ['The stones', 'The stones\nThey turn.'],
      ],
    )
    assert.equal(extraction.model, 'offline')
    assert.deepEqual(await runExtract(given, offlineExtractor, options), { chunks, extraction })
  })

  test('splits long groups', async () => {
    const long = 'A sentence. '.repeat(60).trim()
    const { chunks } = await runExtract(
      unit(atom(0, long), atom(1, long), atom(2, long)),
      offlineExtractor,
      { model: 'any' },
    )
    assert.equal(chunks.length, 3)
    assert.ok(chunks.slice(0, 2).every(({ confidence }) => confidence < 0.7))
  })
})
