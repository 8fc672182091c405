/**
 * Opens DOCX files with mammoth. A DOCX has no fixed pages, so pages end at page breaks or when they are full.
 * Their images are drawn from the text.
 */
import mammoth from 'mammoth'
import { BadDocument } from './bad-document.ts'
import type { RawAtom } from './document-model.ts'
import { type DocxBlock, docxBlocks } from './docx-blocks.ts'
import type { SourceDocument } from './source-document.ts'
import { drawTextPage, layOut } from './text-pages.ts'
import { unpackedBytes } from './unpacked-bytes.ts'

/** A file of a few kilobytes can unpack to gigabytes. */
const unpackedBytesMax = 512 * 2 ** 20
/** Much more text than 2,000 pages have. Parsing takes about 70 times as much memory. */
const xmlBytesMax = 32 * 2 ** 20

export async function openDocx(content: Uint8Array): Promise<SourceDocument> {
  const blocks = await blocksIn(Buffer.from(content.buffer, content.byteOffset, content.byteLength))
  const pages = layOut(blocks)
  return {
    pages: pages.length,
    draw: (page) => drawTextPage(pages[page - 1] ?? [], page),
    read: async (page) =>
      (pages[page - 1] ?? []).flatMap(({ block, isContinued }): RawAtom[] => {
        if (isContinued) return []
        const { kind, text, level } = block
        return [{ page, kind, text, ...(level !== undefined && { level }) }]
      }),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

async function blocksIn(file: Buffer): Promise<readonly DocxBlock[]> {
  const bytes = await unpackedBytes(file, unpackedBytesMax)
  if (bytes === undefined) throw new BadDocument('broken')
  if (bytes.all > unpackedBytesMax || bytes.xml > xmlBytesMax) {
    throw new BadDocument('unpacks_too_large')
  }
  let document: unknown
  const keep = (tree: unknown): unknown => {
    document = tree
    return tree
  }
  try {
    const convertImage = mammoth.images.imgElement(async () => ({ src: '' }))
    const options = { transformDocument: keep, convertImage, externalFileAccess: false }
    await mammoth.convertToHtml({ buffer: file }, options)
  } catch (error) {
    throw new BadDocument('broken', error)
  }
  return docxBlocks(document)
}
