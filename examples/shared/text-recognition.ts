/**
 * Optical character recognition with Tesseract. The language comes with a package, so no network is used.
 * Engines take longer to start than to read a page, so they are kept; each reads one picture at a time.
 */
import { createRequire } from 'node:module'
import sharp from 'sharp'
import { createWorker, OEM, PSM, type Worker } from 'tesseract.js'

export interface RecognizedText {
  readonly text: string
  /** 0 to 1. */
  readonly confidence: number
  /** Where each line is on the page; only when asked for. */
  readonly lines?: readonly RecognizedLine[]
}

export interface RecognizedLine {
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

export interface RecognitionOptions {
  /** What can be on a page. Default: anything, and the engine finds out how the page is laid out. */
  readonly characters?: string
}

/** Smaller than the package's default model by two thirds, and faster for printed text. */
const model = '4.0.0_best_int'

export class TextRecognition implements AsyncDisposable {
  readonly #options: RecognitionOptions
  readonly #idle: Worker[] = []

  constructor(options: RecognitionOptions = {}) {
    this.#options = options
  }

  /** A file or its content. Rejects when it is not a picture. */
  async read(
    picture: string | Buffer,
    { withLines = false }: { readonly withLines?: boolean } = {},
  ): Promise<RecognizedText> {
    // A picture that cannot be decoded fails here; in the engine it would end the engine's thread.
    const page = await sharp(picture).autoOrient().greyscale().normalise().png().toBuffer()
    const engine = this.#idle.pop() ?? (await this.#start())
    try {
      const { data } = await engine.recognize(page, {}, { text: true, blocks: withLines })
      this.#idle.push(engine)
      const result = { text: data.text.trim(), confidence: data.confidence / 100 }
      return withLines ? { ...result, lines: linesOf(data.blocks ?? []) } : result
    } catch (error) {
      await engine.terminate()
      throw error
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((engine) => engine.terminate()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #start(): Promise<Worker> {
    const languages = createRequire(import.meta.url).resolve('@tesseract.js-data/eng')
    const langPath = languages.replace(/index\.js$/, model)
    const engine = await createWorker('eng', OEM.LSTM_ONLY, { langPath, cacheMethod: 'none' })
    const { characters } = this.#options
    if (characters !== undefined) {
      await engine.setParameters({
        tessedit_char_whitelist: characters,
        tessedit_pageseg_mode: PSM.SINGLE_BLOCK,
      })
    }
    return engine
  }
}

function linesOf(blocks: readonly Tesseract.Block[]): readonly RecognizedLine[] {
  return blocks
    .flatMap(({ paragraphs }) => paragraphs)
    .flatMap(({ lines }) => lines)
    .map(({ text, confidence, bbox }) => ({
      text: text.trim(),
      confidence: confidence / 100,
      box: { left: bbox.x0, top: bbox.y0, right: bbox.x1, bottom: bbox.y1 },
    }))
}
