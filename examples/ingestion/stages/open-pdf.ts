/** Opens PDF files with pdf.js: draws pages on a canvas, and reads text with its position and size. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createCanvas } from '@napi-rs/canvas'
import {
  getDocument,
  InvalidPDFException,
  PasswordException,
  type PDFDocumentProxy,
  type PDFPageProxy,
  VerbosityLevel,
} from 'pdfjs-dist/legacy/build/pdf.mjs'
import { BadDocument } from './bad-document.ts'
import type { PageImage } from './document-model.ts'
import { paragraphsOf, type TextPiece } from './pdf-paragraphs.ts'
import type { SourceDocument } from './source-document.ts'

const pdfjs = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'))

/** Readable on a screen. Very large pages are drawn smaller to limit memory. */
const drawScale = 1.5
const sideMax = 2_000
/** Larger images, in pixels, are skipped. */
const imageMax = 2 ** 26

export async function openPdf(content: Uint8Array): Promise<SourceDocument> {
  const task = getDocument({
    // pdf.js takes ownership of the buffer.
    data: new Uint8Array(content),
    verbosity: VerbosityLevel.ERRORS,
    standardFontDataUrl: `${join(pdfjs, 'standard_fonts')}/`,
    cMapUrl: `${join(pdfjs, 'cmaps')}/`,
    cMapPacked: true,
    stopAtErrors: false,
    maxImageSize: imageMax,
  })
  try {
    return new PdfSource(await task.promise)
  } catch (error) {
    await task.destroy()
    throw badPdf(error)
  }
}

class PdfSource implements SourceDocument {
  readonly #pdf: PDFDocumentProxy

  constructor(pdf: PDFDocumentProxy) {
    this.#pdf = pdf
  }

  get pages(): number {
    return this.#pdf.numPages
  }

  draw(page: number): Promise<PageImage> {
    return this.#withPage(page, async (proxy) => {
      const { width, height } = proxy.getViewport({ scale: 1 })
      const scale = Math.min(drawScale, sideMax / Math.max(width, height))
      const viewport = proxy.getViewport({ scale })
      const canvas = createCanvas(Math.ceil(viewport.width), Math.ceil(viewport.height))
      // This canvas works like a browser's; only the types differ.
      const canvasContext = canvas.getContext('2d') as never
      await proxy.render({ canvas: null, canvasContext, viewport }).promise
      const png = await canvas.encode('png')
      return { page, png, width: canvas.width, height: canvas.height }
    })
  }

  read(page: number): ReturnType<SourceDocument['read']> {
    return this.#withPage(page, async (proxy) => {
      const { items } = await proxy.getTextContent()
      const pieces = items.flatMap((item): TextPiece[] => {
        if (!('str' in item)) return []
        const [a = 0, b = 0, , , x = 0, y = 0] = item.transform.map(Number)
        return [{ text: item.str, x, y, width: item.width, size: Math.hypot(a, b) }]
      })
      const { height } = proxy.getViewport({ scale: 1 })
      return paragraphsOf(pieces, { page, height })
    })
  }

  async #withPage<Answer>(
    number: number,
    use: (page: PDFPageProxy) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      const page = await this.#pdf.getPage(number)
      const answer = await use(page)
      page.cleanup()
      return answer
    } catch (error) {
      throw badPdf(error)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pdf.loadingTask.destroy()
  }
}

/** Errors of pdf.js about a file are permanent. Others may be temporary. */
function badPdf(error: unknown): unknown {
  if (error instanceof PasswordException) return new BadDocument('encrypted', error)
  if (error instanceof InvalidPDFException) return new BadDocument('broken', error)
  const isOfFile = error instanceof Error && fileErrors.has(error.name)
  return isOfFile ? new BadDocument('broken', error) : error
}

const fileErrors: ReadonlySet<string> = new Set([
  'FormatError',
  'UnknownErrorException',
  'MissingPDFException',
  'XRefEntryException',
  'XRefParseException',
])
