import assert from 'node:assert/strict'
import { afterAll, describe, test } from 'vitest'
import { drawPage } from './draw-page.ts'
import { TextRecognition } from './text-recognition.ts'

const ocr = new TextRecognition()
afterAll(() => ocr.close())

const page = ['Mathematics, mid-term exam', 'The area of a circle is 28.27']

describe('reading a page', () => {
  test('returns its text, and the positions of its lines if requested', async () => {
    const image = await drawPage(page)
    const { text, confidence, lines = [] } = await ocr.read(image, { withLines: true })
    assert.match(text, /^Mathematics, mid-term exam\nThe area of a circle is 28\.27$/)
    assert.ok(confidence > 0.8 && confidence <= 1, `confidence ${confidence}`)
    const [title, line] = lines
    assert.equal(title?.text, 'Mathematics, mid-term exam')
    assert.ok(title && line && title.box.bottom < line.box.top)
  })

  test('rejects a file that is not an image', async () => {
    await assert.rejects(ocr.read(Buffer.from('not an image')), /unsupported image format/)
  })
})
