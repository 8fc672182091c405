/** A file that was uploaded, opened: its pages can be drawn and read, one at a time. */
import { BadDocument } from './bad-document.ts'
import type { PageImage, RawAtom } from './document-model.ts'
import { openDocx } from './open-docx.ts'
import { openPdf } from './open-pdf.ts'
import { type SourceExt, sourceBytesMax } from './source-types.ts'

export interface SourceDocument extends AsyncDisposable {
  readonly pages: number
  /** `page` counts from 1. */
  draw(page: number): Promise<PageImage>
  read(page: number): Promise<readonly RawAtom[]>
}

/** Long documents would outlast the quarter of an hour that preparing may take. */
const pagesMax = 2_000

export async function openSource(content: Uint8Array, ext: SourceExt): Promise<SourceDocument> {
  if (content.byteLength === 0) throw new BadDocument('empty_file')
  if (content.byteLength > sourceBytesMax) throw new BadDocument('too_large')
  if (typeOf(content) !== ext) throw new BadDocument('wrong_type')
  const source = ext === 'pdf' ? await openPdf(content) : await openDocx(content)
  if (source.pages <= pagesMax) return source
  await source[Symbol.asyncDispose]()
  throw new BadDocument('too_many_pages')
}

/** By the first bytes. A PDF may have a little of something else before its header. */
function typeOf(content: Uint8Array): SourceExt | undefined {
  const head = Buffer.from(content.buffer, content.byteOffset, Math.min(content.byteLength, 1_024))
  if (head.includes('%PDF-')) return 'pdf'
  return head.subarray(0, 4).equals(Buffer.from('PK\x03\x04', 'latin1')) ? 'docx' : undefined
}
