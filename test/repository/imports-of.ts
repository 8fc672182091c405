/** Every import of a TypeScript file, types included, found by a real parser. */
import { parseAst } from 'vitest/node'

export interface Import {
  readonly from: string
  /** Written as `import(...)` and run only when it is reached. */
  readonly lazy: boolean
  /** Written with `import type` or `export type`: nothing of it is there at run time. */
  readonly typesOnly: boolean
}

export function importsOf(code: string): readonly Import[] {
  const found: Import[] = []
  collect(parseAst(code, { lang: 'ts' }), found)
  return found
}

function isTypesOnly(node: object): boolean {
  const { type, importKind, exportKind } = node as Readonly<Record<string, unknown>>
  return type === 'TSImportType' || importKind === 'type' || exportKind === 'type'
}

/** The kinds of syntax that name another module in `source`. */
const importing: ReadonlySet<unknown> = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
])

function collect(node: unknown, found: Import[]): void {
  if (typeof node !== 'object' || node === null) return
  if ('type' in node && importing.has(node.type) && 'source' in node && node.source !== null) {
    const { value } = node.source as { readonly value?: unknown }
    const lazy = node.type === 'ImportExpression'
    // A computed name cannot be checked, so it must not be there.
    const from = typeof value === 'string' ? value : '(computed)'
    found.push({ from, lazy, typesOnly: isTypesOnly(node) })
  }
  for (const child of Object.values(node)) collect(child, found)
}
