/** Reads the text of a picture with Tesseract. The language comes with a package: no network is used. */
import { createRequire } from 'node:module'
import sharp from 'sharp'
import { createWorker, type Worker } from 'tesseract.js'

export interface RecognizedText {
  readonly text: string
  /** 0 to 100. */
  readonly confidence: number
}

/** Smaller than the package's default model by two thirds, and faster for printed text. */
const model = '4.0.0_best_int'

export class TextRecognition {
  /** Engines cost a third of a second to start, so they are kept; each reads one picture at a time. */
  readonly #idle: Worker[] = []

  /** Throws when the file is no picture. */
  async read(file: string): Promise<RecognizedText> {
    // What cannot be decoded ends here, and not as the end of the engine's thread.
    const picture = await sharp(file).greyscale().png().toBuffer()
    const engine = this.#idle.pop() ?? (await startEngine())
    try {
      const { data } = await engine.recognize(picture)
      this.#idle.push(engine)
      return { text: data.text.trim(), confidence: data.confidence }
    } catch (error) {
      await engine.terminate()
      throw error
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((engine) => engine.terminate()))
  }
}

function startEngine(): Promise<Worker> {
  const languages = createRequire(import.meta.url).resolve('@tesseract.js-data/eng')
  const langPath = languages.replace(/index\.js$/, model)
  return createWorker('eng', 1, { langPath, cacheMethod: 'none', gzip: true })
}
