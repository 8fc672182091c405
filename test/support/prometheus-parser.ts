/**
 * Parses Prometheus' text format as strictly as its own parser, and checks more: each metric has one block, its
 * type comes before its samples, no series occurs twice, and histograms are consistent.
 */
import assert from 'node:assert/strict'

export interface ParsedSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface ParsedFamily {
  readonly type: string
  readonly help: string
  readonly samples: readonly ParsedSample[]
}

interface Block {
  readonly type: string
  readonly help: string
  readonly samples: ParsedSample[]
}

const nameForm = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const helpLine = new RegExp(`^# HELP (${nameForm}) (.+)$`)
const typeLine = new RegExp(`^# TYPE (${nameForm}) (counter|gauge|histogram|summary)$`)
const sampleLine = new RegExp(`^(${nameForm})(?:\\{(.*)\\})? (\\S+)$`)
const labelPair = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/

export function parsePrometheus(text: string): ReadonlyMap<string, ParsedFamily> {
  assert.ok(text.endsWith('\n'), 'the last line ends')
  const lines = text.slice(0, -1).split('\n')
  const families = new Map<string, Block>()
  const series = new Set<string>()
  let current = { name: '', block: undefined as Block | undefined }
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    const help = helpLine.exec(line)
    if (help !== null) {
      const [, name = '', words = ''] = help
      const type = typeLine.exec(lines[at + 1] ?? '')
      assert.equal(type?.[1], name, `the type follows the help of ${name}`)
      assert.ok(!families.has(name), `${name} has one block`)
      const block: Block = { type: type?.[2] ?? '', help: words, samples: [] }
      families.set(name, block)
      current = { name, block }
      at += 1
      continue
    }
    const sample = parseSample(line)
    const { name, block } = current
    assert.ok(
      block !== undefined && belongs(sample.name, name, block.type),
      `out of place: ${line}`,
    )
    const key = `${sample.name}${JSON.stringify(Object.entries(sample.labels).sort())}`
    assert.ok(!series.has(key), `twice: ${line}`)
    series.add(key)
    block.samples.push(sample)
  }
  for (const [name, block] of families) checkFamily(name, block)
  return families
}

function parseSample(line: string): ParsedSample {
  const [, name, labels = '', number = ''] = sampleLine.exec(line) ?? []
  assert.ok(name !== undefined, `not a sample: ${line}`)
  const value = number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number)
  assert.ok(!Number.isNaN(value), `not a number: ${line}`)
  return { name, labels: parseLabels(labels), value }
}

function parseLabels(text: string): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {}
  let rest = text
  while (rest !== '') {
    const [whole, name = '', value = ''] = labelPair.exec(rest) ?? []
    assert.ok(whole !== undefined, `not a label: ${rest}`)
    assert.ok(!(name in labels), `a label twice: ${name}`)
    labels[name] = value.replaceAll(/\\(.)/g, (_, one) => (one === 'n' ? '\n' : one))
    rest = rest.slice(whole.length)
  }
  return labels
}

function belongs(sample: string, name: string, type: string): boolean {
  if (type === 'summary') return ['_sum', '_count'].some((end) => sample === `${name}${end}`)
  if (type !== 'histogram') return sample === name
  return ['_bucket', '_sum', '_count'].some((suffix) => sample === `${name}${suffix}`)
}

function checkFamily(name: string, { type, samples }: Block): void {
  assert.ok(samples.length > 0, `${name} has samples`)
  assert.equal(type === 'counter', name.endsWith('_total'), `the name of ${name} says its type`)
  // The sum of a summary may be negative.
  const canFall = (sample: string): boolean =>
    type === 'gauge' || (type === 'summary' && sample.endsWith('_sum'))
  for (const { name: one, value } of samples) assert.ok(canFall(one) || value >= 0, one)
  if (type !== 'histogram') return
  for (const count of samples.filter((one) => one.name.endsWith('_count'))) {
    const buckets = samples.filter(
      ({ name: one, labels: { le: _, ...others } }) =>
        one.endsWith('_bucket') && JSON.stringify(others) === JSON.stringify(count.labels),
    )
    const values = buckets.map(({ value }) => value)
    assert.deepEqual(
      values,
      values.toSorted((a, b) => a - b),
      `${name} rises`,
    )
    assert.equal(buckets.at(-1)?.labels['le'], '+Inf')
    assert.equal(buckets.at(-1)?.value, count.value)
  }
}

/** The value of the one series that has these labels. */
export function sampleOf(
  families: ReadonlyMap<string, ParsedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const all = [...families.values()].flatMap(({ samples }) => samples)
  const found = all.filter(
    (one) =>
      one.name === name &&
      Object.entries(labels).every(([label, value]) => one.labels[label] === value),
  )
  assert.ok(found.length <= 1, `more than one series of ${name}`)
  return found[0]?.value
}
