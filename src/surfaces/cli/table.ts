export interface TableOptions<Column extends string> {
  /** For numbers. */
  readonly rightAligned?: readonly Column[]
}

/** Rows as aligned columns. A column without values is left out. */
export function table<Column extends string>(
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, string | null>>[],
  { rightAligned = [] }: TableOptions<Column> = {},
): string {
  const shown = columns.filter((column) => rows.some((row) => row[column]))
  const lines = [
    shown.map((column) => column.replaceAll('_', ' ').toUpperCase()),
    ...rows.map((row) => shown.map((column) => printable(row[column] ?? ''))),
  ]
  const widths = shown.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  const right = shown.map((column) => rightAligned.includes(column))
  return lines
    .map((line) =>
      line
        .map((cell, at) =>
          right[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** A label and its value. */
export type Detail = readonly [label: string, value: string | null]

/** Lines of label and value. Lines without a value are left out. */
export function detailLines(details: readonly Detail[]): readonly string[] {
  const width = Math.max(...details.map(([label]) => label.length))
  return details.flatMap(([label, value]) =>
    value === null ? [] : [`${label.padEnd(width)}  ${printable(value)}`],
  )
}

/** Replaces control characters: text from messages must not control the terminal or fake a row. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\uFFFD')
}
