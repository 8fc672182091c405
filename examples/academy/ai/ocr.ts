/**
 * Optical character recognition with Tesseract. Its language data comes with a package, so nothing is
 * fetched; its engine is started with the first page and then kept, since starting takes longer than
 * reading.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import sharp from 'sharp'
import { createWorker, OEM, type Worker } from 'tesseract.js'

export interface OcrResult {
  readonly text: string
  /** 0 to 1. */
  readonly confidence: number
  /** Where each line is on the page; only when asked for. */
  readonly lines?: readonly OcrLine[]
}

export interface OcrLine {
  readonly text: string
  readonly confidence: number
  /** In points of the picture. */
  readonly box: {
    readonly left: number
    readonly top: number
    readonly right: number
    readonly bottom: number
  }
}

export interface OcrEngine {
  read(image: Buffer, options?: { readonly withLines?: boolean }): Promise<OcrResult>
  close(): Promise<void>
}

export function createOcrEngine(): OcrEngine {
  let started: Promise<Worker> | undefined
  return {
    async read(image, { withLines = false } = {}) {
      // Also refuses what is no picture before the engine sees it.
      const page = await sharp(image).autoOrient().greyscale().normalise().png().toBuffer()
      started ??= startTesseract()
      const worker = await started
      const { data } = await worker.recognize(page, {}, { text: true, blocks: withLines })
      const result = { text: data.text.trim(), confidence: data.confidence / 100 }
      return withLines ? { ...result, lines: linesOf(data.blocks ?? []) } : result
    },
    async close() {
      await (await started)?.terminate()
    },
  }
}

function startTesseract(): Promise<Worker> {
  const languages = dirname(createRequire(import.meta.url).resolve('@tesseract.js-data/eng'))
  return createWorker('eng', OEM.LSTM_ONLY, {
    langPath: join(languages, '4.0.0_best_int'),
    cacheMethod: 'none',
  })
}

function linesOf(blocks: readonly Tesseract.Block[]): readonly OcrLine[] {
  return blocks
    .flatMap(({ paragraphs }) => paragraphs)
    .flatMap(({ lines }) => lines)
    .map(({ text, confidence, bbox }) => ({
      text: text.trim(),
      confidence: confidence / 100,
      box: { left: bbox.x0, top: bbox.y0, right: bbox.x1, bottom: bbox.y1 },
    }))
}
