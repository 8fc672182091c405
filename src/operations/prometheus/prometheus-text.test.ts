import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { histogramSamples, type MetricFamily, prometheusText } from './prometheus-text.ts'

describe("Prometheus' text format", () => {
  test('has help and type in front of each metric', () => {
    const families: readonly MetricFamily[] = [
      {
        name: 'a_total',
        help: 'One thing.',
        type: 'counter',
        samples: [{ labels: { queue: 'x', state: 'y' }, value: 3 }],
      },
      { name: 'b', help: 'Another.', type: 'gauge', samples: [{ labels: {}, value: 0.25 }] },
    ]
    assert.equal(
      prometheusText(families),
      [
        '# HELP a_total One thing.',
        '# TYPE a_total counter',
        'a_total{queue="x",state="y"} 3',
        '# HELP b Another.',
        '# TYPE b gauge',
        'b 0.25',
        '',
      ].join('\n'),
    )
  })

  test('says nothing about a metric that has no samples', () => {
    assert.equal(prometheusText([{ name: 'a', help: 'x', type: 'gauge', samples: [] }]), '')
  })

  test('escapes what labels and help may hold', () => {
    const text = prometheusText([
      {
        name: 'a',
        help: 'a\\b\nc "d"',
        type: 'gauge',
        samples: [{ labels: { x: 'a\\b\nc "d"' }, value: 1 }],
      },
    ])
    assert.equal(text, '# HELP a a\\\\b\\nc "d"\n# TYPE a gauge\na{x="a\\\\b\\nc \\"d\\""} 1\n')
  })

  test('has histograms that count up to the last bound', () => {
    const samples = histogramSamples(
      { queue: 'q' },
      { bounds: [1, 2.5], buckets: [3, 0, 2], sum: 9 },
    )
    const text = prometheusText([{ name: 'h', help: 'x', type: 'histogram', samples }])
    assert.deepEqual(text.split('\n').slice(2), [
      'h_bucket{queue="q",le="1"} 3',
      'h_bucket{queue="q",le="2.5"} 3',
      'h_bucket{queue="q",le="+Inf"} 5',
      'h_sum{queue="q"} 9',
      'h_count{queue="q"} 5',
      '',
    ])
  })

  test('writes numbers that are not finite as Prometheus does', () => {
    const samples = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN].map(
      (value) => ({ labels: {}, value }),
    )
    const text = prometheusText([{ name: 'a', help: 'x', type: 'gauge', samples }])
    assert.deepEqual(text.split('\n').slice(2, 5), ['a +Inf', 'a -Inf', 'a NaN'])
  })
})
