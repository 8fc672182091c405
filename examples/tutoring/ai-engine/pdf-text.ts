/**
 * Reads the text of a PDF line by line, from plain or deflated content streams with single-byte fonts. Word
 * processors write such files for simple sheets. Scans contain no text.
 */
import { inflateSync } from 'node:zlib'

const streamBytesMax = 5 * 2 ** 20

export function pdfText(pdf: Buffer): readonly string[] {
  const source = pdf.toString('latin1')
  if (!source.startsWith('%PDF-')) throw new Error('The file is not a PDF.')
  const lines: string[] = []
  for (const { 0: found, index } of source.matchAll(/>>\s{0,9}stream\r?\n/g)) {
    const dictionary = source.slice(source.lastIndexOf(' obj', index), index)
    if (/\/(?:Subtype\s*\/Image|Type\s*\/(?:XRef|ObjStm))/.test(dictionary)) continue
    const start = index + found.length
    const end = source.indexOf('endstream', start)
    if (end >= 0) lines.push(...linesIn(contentOf(pdf.subarray(start, end), dictionary)))
  }
  return lines
}

function contentOf(stream: Buffer, dictionary: string): string {
  if (!/\/Filter\b/.test(dictionary)) return stream.toString('latin1')
  if (!/\/Filter\s*\[?\s*\/FlateDecode\s*\]?/.test(dictionary)) return ''
  try {
    return inflateSync(stream, { maxOutputLength: streamBytesMax }).toString('latin1')
  } catch {
    throw new Error('A stream of the PDF cannot be unpacked.')
  }
}

/** A string in brackets or hexadecimal, or an operator that shows text or begins a line. */
const part =
  /\(((?:\\[\s\S]|[^\\()])*)\)|<([0-9A-Fa-f\s]*)>|(?<![\w*])(Tj|TJ|T\*|Td|TD|Tm|ET|'|")(?![\w*])/g

function linesIn(content: string): readonly string[] {
  const lines: string[] = []
  let shown = ''
  let waiting = ''
  const newLine = (): void => {
    if (shown.trim() !== '') lines.push(shown.trim())
    shown = ''
  }
  for (const [, text, hex, operator] of content.matchAll(part)) {
    if (text !== undefined) waiting += unescaped(text)
    else if (hex !== undefined)
      waiting += Buffer.from(hex.replace(/\s/g, ''), 'hex').toString('latin1')
    else {
      if (operator !== 'Tj' && operator !== 'TJ') newLine()
      if (operator !== undefined && /^(?:Tj|TJ|'|")$/.test(operator)) shown += waiting
      waiting = ''
    }
  }
  newLine()
  return lines
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

function unescaped(text: string): string {
  return text.replace(/\\(?:([0-7]{1,3})|([\s\S]))/g, (_, octal?: string, other = '') =>
    octal === undefined
      ? (escapes[other] ?? other)
      : String.fromCharCode(Number.parseInt(octal, 8)),
  )
}
