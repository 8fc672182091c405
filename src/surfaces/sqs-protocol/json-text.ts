/**
 * Formats a response as JSON by its shape, in one pass. Empty lists and maps are left out, and bytes become
 * base64.
 */
import type { Members, Shape, StructureShape, Value } from './shapes.ts'

export function structureText(shape: StructureShape, members: Members): string {
  let text = ''
  for (const [name, memberShape] of shape.entries) {
    const value = members[name]
    if (value === undefined || isEmpty(memberShape, value)) continue
    text += `${text === '' ? '' : ','}"${name}":${valueText(memberShape, value)}`
  }
  return `{${text}}`
}

function valueText(shape: Shape, value: Value): string {
  switch (shape.kind) {
    case 'structure':
      return structureText(shape, value as Members)
    case 'list':
      return `[${(value as readonly Value[]).map((item) => valueText(shape.item, item)).join(',')}]`
    case 'map':
      return `{${Object.entries(value as Members)
        .map(([key, item]) => `${JSON.stringify(key)}:${valueText(shape.value, item ?? '')}`)
        .join(',')}}`
    case 'blob':
      return `"${Buffer.from(value as Uint8Array).toString('base64')}"`
    default:
      return JSON.stringify(value)
  }
}

function isEmpty(shape: Shape, value: Value): boolean {
  if (shape.kind === 'list') return (value as readonly Value[]).length === 0
  return shape.kind === 'map' && Object.keys(value as Members).length === 0
}
