/** The dashboard, the alert rules and the page about metrics name metrics that exist, and all of them. */
import assert from 'node:assert/strict'
import { beforeAll, describe, test } from 'vitest'
import { parse } from 'yaml'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { queueMetricNames } from '../../src/operations/metrics/metric-data.ts'
import { prometheusMetrics } from '../../src/operations/prometheus/prometheus-metrics.ts'
import type { MetricFamily } from '../../src/operations/prometheus/prometheus-text.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { readRepositoryFile } from './repository-files.ts'

let families: readonly MetricFamily[]

beforeAll(async () => {
  const folder = await temporaryFolder('dashboards')
  const backend = await openSqlite({ file: folder.file('millrace.db') })
  families = await prometheusMetrics(backend)
  await backend.close()
  await folder.remove()
})

/** As samples are called: a histogram has three names, a summary two. */
function sampleNames(): readonly string[] {
  return families.flatMap(({ name, type }) => ends[type].map((end) => name + end))
}

const ends: Readonly<Record<MetricFamily['type'], readonly string[]>> = {
  counter: [''],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['_sum', '_count'],
}

function namedIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/\bmillrace_\w+/g)].map(([name]) => name))]
}

interface Panel {
  readonly type: string
  readonly title: string
  readonly datasource?: { readonly uid: string }
  readonly targets?: readonly { readonly expr: string; readonly datasource: { uid: string } }[]
}

describe('the dashboard for Grafana', () => {
  const dashboard = JSON.parse(readRepositoryFile('dashboards/grafana.json'))
  const panels: readonly Panel[] = dashboard.panels

  test('asks for metrics that exist', () => {
    const named = namedIn(JSON.stringify(dashboard))
    assert.ok(named.length > 15)
    assert.deepEqual(
      named.filter((name) => !sampleNames().includes(name)),
      [],
    )
  })

  test('takes its data source from a variable', () => {
    const names = dashboard.templating.list.map(({ name }: { name: string }) => name)
    assert.deepEqual(names, ['datasource', 'queue'])
    const fixed = panels
      .filter(({ type }) => type !== 'row')
      .filter(({ datasource, targets = [] }) =>
        [datasource, ...targets.map((target) => target.datasource)].some(
          (source) => source?.uid !== '$' + '{datasource}',
        ),
      )
    assert.deepEqual(fixed, [])
  })

  test('has panels that do not lie upon each other', () => {
    const ids = dashboard.panels.map(({ id }: { id: number }) => id)
    assert.equal(new Set(ids).size, ids.length)
    const places = dashboard.panels.map(({ gridPos: { x, y } }: { gridPos: Place }) => `${x},${y}`)
    assert.equal(new Set(places).size, places.length)
  })
})

interface Place {
  readonly x: number
  readonly y: number
}

describe('the alert rules for Prometheus', () => {
  interface Rule {
    readonly alert: string
    readonly expr: string
    readonly labels: { readonly severity: string }
    readonly annotations: { readonly summary: string }
  }
  const { groups } = parse(readRepositoryFile('dashboards/alerts.yaml'))
  const rules: readonly Rule[] = groups.flatMap(({ rules: some }: { rules: Rule[] }) => some)

  test('ask for metrics that exist', () => {
    assert.ok(rules.length >= 8)
    for (const { alert, expr } of rules) {
      const named = namedIn(expr)
      assert.ok(named.length > 0, alert)
      assert.deepEqual(
        named.filter((name) => !sampleNames().includes(name)),
        [],
        alert,
      )
    }
  })

  test('say what is wrong, and how bad it is', () => {
    for (const { alert, labels, annotations } of rules) {
      assert.match(labels.severity, /^(warning|critical)$/, alert)
      assert.ok(annotations.summary.length > 10, alert)
    }
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  })
})

describe('the page about metrics', () => {
  const page = readRepositoryFile('docs/metrics.md')

  test('has every metric of Prometheus, and no other', () => {
    const names = families.map(({ name }) => name)
    assert.deepEqual([...namedIn(page)].sort(), [...names].sort())
  })

  test("has each metric with CloudWatch's name, once", () => {
    const rows = page.split('| Metric | Unit | On SQS |')[1]?.split('\n\n')[0] ?? ''
    const named = [...rows.matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name)
    const metrics = named.filter((name) => name !== 'Minimum')
    assert.deepEqual(metrics.toSorted(), queueMetricNames.toSorted())
  })
})
