/**
 * The keys of objects. We build them from checked ids. Each begins with the organisation that owns the object.
 */
import type { SourceExt } from '../stages/source-types.ts'

interface Owner {
  readonly organizationId: string
  readonly documentId: string
}

/** No part of a key can leave the folder or be hidden. */
const keyPart = '[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}'
const objectKey = new RegExp(`^${keyPart}(?:/${keyPart}){1,9}$`)

export function isObjectKey(text: string): boolean {
  return objectKey.test(text)
}

/** The key of an upload. */
export function sourceKey({
  organizationId,
  kbId,
  documentId,
  ext,
}: Owner & { readonly kbId: string; readonly ext: SourceExt }): string {
  return `${organizationId}/${kbId}/${documentId}/source.${ext}`
}

/** The key of a file that the stages cache. */
export function cacheKeys({ organizationId, documentId }: Owner): {
  readonly parse: string
  page(page: number): string
  unit(unitId: string): string
  groupings(unitId: string): string
} {
  const folder = `${organizationId}/${documentId}`
  return {
    parse: `${folder}/parse.json`,
    page: (page) => `${folder}/pages/${String(page).padStart(4, '0')}.png`,
    unit: (unitId) => `${folder}/units/${unitId}.json`,
    groupings: (unitId) => `${folder}/groupings/${unitId}.json`,
  }
}
