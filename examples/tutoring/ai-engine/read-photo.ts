/** Reads the lines of a photographed answer with Tesseract. Its language data comes with a package. */
import { createRequire } from 'node:module'
import { createWorker, OEM, PSM, type Worker } from 'tesseract.js'

export interface PhotoText {
  /** In LaTeX. */
  readonly lines: readonly string[]
  /** 0 to 1. */
  readonly confidence: number
}

export interface PhotoReader extends AsyncDisposable {
  readonly name: string
  read(photo: Buffer): Promise<PhotoText>
}

/** Mathematics and nothing else: `l` is a 1 and `O` a 0. */
const characters = '0123456789x+-=()/*. '

export function photoReader(): PhotoReader {
  // Started with the first photo. One photo at a time: an engine is not made for more.
  let engine: Promise<Worker> | undefined
  let queue: Promise<unknown> = Promise.resolve()
  const recognise = async (photo: Buffer): Promise<PhotoText> => {
    engine ??= startEngine()
    const { data } = await (await engine).recognize(photo)
    const lines = data.text.split('\n').map(toLatex).filter(Boolean)
    return { lines, confidence: data.confidence / 100 }
  }
  return {
    name: 'tesseract',
    read(photo) {
      if (!isPicture(photo)) return Promise.reject(new Error('The photo is no PNG or JPEG.'))
      const reading = queue.then(() => recognise(photo))
      queue = reading.catch(() => undefined)
      return reading
    },
    async [Symbol.asyncDispose]() {
      await queue
      await (await engine)?.terminate()
    },
  }
}

async function startEngine(): Promise<Worker> {
  const data = createRequire(import.meta.url).resolve('@tesseract.js-data/eng/package.json')
  const langPath = data.replace('package.json', '4.0.0_best_int')
  const worker = await createWorker('eng', OEM.LSTM_ONLY, {
    langPath,
    gzip: true,
    cacheMethod: 'none',
  })
  await worker.setParameters({
    tessedit_char_whitelist: characters,
    tessedit_pageseg_mode: PSM.SINGLE_BLOCK,
  })
  return worker
}

/** What is no picture would end the engine's thread, and with it this process. */
function isPicture(photo: Buffer): boolean {
  const start = photo.subarray(0, 4).toString('hex')
  return start === '89504e47' || start.startsWith('ffd8ff')
}

/** `3*4` becomes `3 \cdot 4`, `25/3` becomes `\frac{25}{3}`, and operators get their blanks. */
function toLatex(line: string): string {
  return line
    .replace(/\s+/g, '')
    .replace(/(\d+)\/(\d+)/g, '\\frac{$1}{$2}')
    .replace(/\*/g, ' \\cdot ')
    .replace(/(?<=[\dx)}])([-+])/g, ' $1 ')
    .replace(/=/g, ' = ')
}
