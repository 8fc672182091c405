/** `millrace metrics`: the latest values that apps and their janitors recorded, by name. */
import type { Command } from 'commander'
import { latestValues } from '../../operations/metrics/latest-values.ts'
import { type LatestValueView, latestValueView } from '../../operations/metrics/metric-view.ts'
import { boldHead } from './queue-sheet.ts'
import type { Colours, Shell } from './shell.ts'
import { type Call, inStore, run, type StoreFlags, storeCommand } from './store-command.ts'
import { table } from './table.ts'

interface MetricsFlags extends StoreFlags {
  readonly prefix: string
}

export function metricsCommand(parent: Command, shell: Shell): void {
  const command = storeCommand(parent, {
    usage: 'metrics',
    description:
      'Show the latest value of each custom metric: of apps, and of the check for stuck jobs.',
    examples: ['metrics', 'metrics --prefix shop-dev-janitor_ --json'],
  }).option('--prefix <text>', 'only metrics whose name starts with this', '')
  run(shell, command, showValues)
}

async function showValues({ flags, output, shell }: Call<MetricsFlags>): Promise<void> {
  const all = await inStore({ flags, shell }, ({ backend }) => latestValues(backend))
  const values = all.filter(({ name }) => name.startsWith(flags.prefix)).map(latestValueView)
  if (flags.json) return output.json({ values })
  if (values.length === 0) return output.notice('No values were recorded in the last three days.')
  output.line(valueTable(values, output.paint))
}

function valueTable(values: readonly LatestValueView[], paint: Pick<Colours, 'bold'>): string {
  const rows = values.map(({ name, value, at, count, sum }) => ({
    name,
    value: String(value),
    at,
    count: String(count),
    sum: String(sum),
  }))
  const numbers = ['value', 'count', 'sum'] as const
  const columns = ['name', 'value', 'at', 'count', 'sum'] as const
  return boldHead(table(columns, rows, { rightAligned: numbers }), paint)
}
