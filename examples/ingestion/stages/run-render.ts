/** RENDER: an image of every page, one at a time, because an uncompressed page takes megabytes. */
import type { PageImage } from './document-model.ts'
import type { SourceDocument } from './source-document.ts'

export async function* runRender(source: SourceDocument): AsyncGenerator<PageImage> {
  for (let page = 1; page <= source.pages; page += 1) yield await source.draw(page)
}
