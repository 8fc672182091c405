/**
 * Formats metrics as Prometheus text, version 0.0.4: one block per metric with its help, type and samples.
 */
export type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary'

export type Labels = Readonly<Record<string, string>>

export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: MetricType
  readonly samples: readonly MetricSample[]
}

export interface MetricSample {
  /** Suffix of the family's name: `_bucket`, `_sum`, `_count`. Default: none. */
  readonly suffix?: string
  readonly labels: Labels
  readonly value: number
}

export const prometheusContentType = 'text/plain; version=0.0.4; charset=utf-8'

/** Families without samples are left out. */
export function prometheusText(families: readonly MetricFamily[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(block)
    .join('')
}

/** @param buckets the count of each bucket, not cumulative; one more than there are bounds */
export function histogramSamples(
  labels: Labels,
  histogram: {
    readonly bounds: readonly number[]
    readonly buckets: readonly number[]
    readonly sum: number
  },
): readonly MetricSample[] {
  const { bounds, buckets, sum } = histogram
  let total = 0
  const cumulative = buckets.map((count, index): MetricSample => {
    total += count
    const bound = bounds[index]
    const le = bound === undefined ? '+Inf' : String(bound)
    return { suffix: '_bucket', labels: { ...labels, le }, value: total }
  })
  return [
    ...cumulative,
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: total },
  ]
}

function block({ name, help, type, samples }: MetricFamily): string {
  const lines = samples.map(
    ({ suffix = '', labels, value }) => `${name}${suffix}${labelText(labels)} ${number(value)}\n`,
  )
  return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeLabel(value: string): string {
  return escapeHelp(value).replaceAll('"', '\\"')
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value)
}
