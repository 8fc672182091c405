/** Rows as aligned columns for people; a column in which nothing stands is left out. */
export function table<Column extends string>(
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, string | null>>[],
): string {
  const shown = columns.filter((column) => rows.some((row) => row[column]))
  const lines = [
    shown.map((column) => column.replaceAll('_', ' ').toUpperCase()),
    ...rows.map((row) => shown.map((column) => printable(row[column] ?? ''))),
  ]
  const widths = shown.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Somebody else wrote it: it must neither steer the terminal nor look like another row. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\uFFFD')
}
