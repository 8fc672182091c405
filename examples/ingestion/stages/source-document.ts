/** Opens an uploaded file, to draw and read its pages one at a time. */
import { BadDocument } from './bad-document.ts'
import type { PageImage, RawAtom } from './document-model.ts'
import { openDocx } from './open-docx.ts'
import { openPdf } from './open-pdf.ts'
import { type SourceExt, sourceBytesMax } from './source-types.ts'

export interface SourceDocument extends AsyncDisposable {
  readonly pages: number
  /** `page` starts at 1. */
  draw(page: number): Promise<PageImage>
  read(page: number): Promise<readonly RawAtom[]>
}

/** Longer documents would exceed the 15-minute timeout of preparing. */
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

/** Detects the type by the first bytes. A PDF header may follow a few other bytes. */
function typeOf(content: Uint8Array): SourceExt | undefined {
  const head = Buffer.from(content.buffer, content.byteOffset, Math.min(content.byteLength, 1_024))
  if (head.includes('%PDF-')) return 'pdf'
  return head.subarray(0, 4).equals(Buffer.from('PK\x03\x04', 'latin1')) ? 'docx' : undefined
}
