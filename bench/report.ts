/** A report is a list of measured rows. A row may have a target. */
export interface Row {
  readonly what: string
  readonly measured: string
  /** The same without Millrace, measured in the same run. */
  readonly beside?: string
  readonly bar?: string
  readonly isMet?: boolean
}

export interface Report {
  readonly title: string
  /** Default: the embedded store. */
  readonly database?: MeasuredDatabase
  readonly notes: readonly string[]
  readonly rows: readonly Row[]
}

export interface MeasuredDatabase {
  readonly version: string
  readonly durability: string
}

export function renderReport(report: Report, machine: readonly string[]): string {
  const header = ['what', 'measured', 'compared with, in the same run', 'target', 'met']
  const rows = report.rows.map(({ what, measured, beside = '', bar = '', isMet }) => [
    what,
    measured,
    beside,
    bar,
    isMet === undefined ? '' : isMet ? 'yes' : 'NO',
  ])
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const rule = line(widths.map((width) => '-'.repeat(width)))
  return [
    `# ${report.title}`,
    '',
    'Written by the benchmark; do not edit.',
    '',
    ...machine.map((text) => `- ${text}`),
    ...report.notes.map((text) => `- ${text}`),
    '',
    line(header),
    rule,
    ...rows.map(line),
    '',
  ].join('\n')
}

/** Compares two rates by the median of the ratios of all rounds. */
export function ratioRow<Round extends Readonly<Record<keyof Round, number>>>(
  rounds: readonly Round[],
  what: string,
  [ours, theirs]: readonly [keyof Round, keyof Round],
  bar: number | undefined,
  name: string,
): Row {
  const ratio = median(rounds.map((round) => round[ours] / round[theirs]))
  return {
    what,
    measured: formatRate(median(rounds.map((round) => round[ours]))),
    beside: `${name} ${formatRate(median(rounds.map((round) => round[theirs])))}: ${formatRatio(ratio)}`,
    ...(bar !== undefined && { bar: `at least ${formatRatio(bar)}`, isMet: ratio >= bar }),
  }
}

export function perSecond(count: number, elapsedMs: number): number {
  return count / (elapsedMs / 1_000)
}

export function formatRate(rate: number): string {
  return `${Math.round(rate).toLocaleString('en-US')}/s`
}

export function formatMs(ms: number): string {
  return `${ms.toFixed(ms < 10 ? 2 : 1)} ms`
}

export function formatRatio(ratio: number): string {
  return `${Math.round(ratio * 100)} %`
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
