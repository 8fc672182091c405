/** Reads the lines of a photographed answer. */
import { TextRecognition } from '../../shared/text-recognition.ts'

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

/** Only mathematics: an `l` is read as 1 and an `O` as 0. */
const characters = '0123456789x+-=()/*. '

export function photoReader(): PhotoReader {
  const recognition = new TextRecognition({ characters })
  return {
    name: 'tesseract',
    async read(photo) {
      const { text, confidence } = await recognition.read(photo)
      return { lines: text.split('\n').map(toLatex).filter(Boolean), confidence }
    },
    [Symbol.asyncDispose]: () => recognition.close(),
  }
}

/** `3*4` becomes `3 \cdot 4`, `25/3` becomes `\frac{25}{3}`, and operators get spaces. */
function toLatex(line: string): string {
  return line
    .replace(/\s+/g, '')
    .replace(/(\d+)\/(\d+)/g, '\\frac{$1}{$2}')
    .replace(/\*/g, ' \\cdot ')
    .replace(/(?<=[\dx)}])([-+])/g, ' $1 ')
    .replace(/=/g, ' = ')
}
