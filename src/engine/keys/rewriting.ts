/** Walks through all texts that hold content, to seal them with another key. */

import type { ContentForm, RewriteTexts, RewrittenTexts } from '../../backends/key-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Value } from '../statements.ts'
import { change, type Query, query, type Statement, upTo } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'

interface Column {
  readonly form: ContentForm
  readonly width: number
  readonly first: Query<Row>
  readonly after: Query<Row>
  readonly update: Statement
}

type Row = Readonly<Record<string, Value>>

/** The columns of a table that identify a row, and those that hold content. */
function columnsOf(
  table: string,
  keys: readonly string[],
  contents: Readonly<Record<string, ContentForm>>,
  rows = 'TRUE',
): readonly Column[] {
  const names = keys.join(', ')
  const places = keys.map(() => '?').join(', ')
  const selected = keys.map((key, index) => `${key} AS key${index}`).join(', ')
  return Object.entries(contents).map(([column, form]) => {
    const select = `SELECT ${selected}, ${column} AS text FROM ${table} WHERE ${rows}`
    return {
      form,
      width: keys.length,
      first: query(`${select} ORDER BY ${names} ${upTo}`),
      after: query(`${select} AND (${names}) > (${places}) ORDER BY ${names} ${upTo}`),
      update: change(
        `UPDATE ${table} SET ${column} = ? WHERE (${names}) = (${places}) AND ${column} = ?`,
      ),
    }
  })
}

/** Every column that holds content. Work that waits to be sent comes before the messages that it becomes. */
const columns: readonly Column[] = [
  ...columnsOf('flow_text', ['flow', 'kind'], { text: 'json' }, "kind <> 'data'"),
  ...columnsOf('flow_text', ['flow', 'kind'], { text: 'text' }, "kind = 'data'"),
  ...columnsOf('flow', ['number'], { end_message: 'json', failure: 'text' }),
  ...columnsOf('unit_work', ['unit'], { work: 'json' }),
  ...columnsOf('flow_unit', ['number'], { reason: 'text' }),
  ...columnsOf('collector_item', ['key', 'item_order', 'arrival'], { body: 'text' }),
  ...columnsOf('schedule', ['name'], { definition: 'text', last_error: 'text' }),
  ...columnsOf('message', ['sequence'], { body: 'text', attributes: 'json', origin: 'json' }),
  ...columnsOf('message_body', ['sequence'], { body: 'text' }),
  ...columnsOf('finished_job', ['number'], { payload: 'text', result: 'text', error: 'text' }),
  ...columnsOf('job_attempt', ['number', 'attempt'], { error: 'text' }),
  ...columnsOf('job_failure', ['number', 'attempt'], { failure: 'json' }),
  ...columnsOf('job_log', ['number', 'attempt', 'part'], { lines: 'json' }),
  ...columnsOf('inbox_event', ['number'], { note: 'text' }),
]

/** The position of a walk: a column, and the last row of it. */
type Position = readonly [column: number, ...keys: readonly Value[]]

export function* rewriteTexts(tx: Transaction, request: RewriteTexts): Steps<RewrittenTexts> {
  const { after, limit, rewrite } = request
  if (rewrite === undefined) throw new MillraceError('unsupported')
  const [index, ...keys] = after === undefined ? ([0] as Position) : (JSON.parse(after) as Position)
  const column = columns[index]
  if (column === undefined) return { seen: 0, rewritten: 0 }
  const rows =
    keys.length === 0
      ? yield* tx.all(column.first, limit)
      : yield* tx.all(column.after, ...keys, limit)
  let seen = 0
  let rewritten = 0
  for (const row of rows) {
    const text = row['text']
    if (typeof text !== 'string') continue
    seen += 1
    const replaced = rewrite(text, column.form)
    if (replaced === undefined) continue
    yield* tx.run(column.update, replaced, ...keysOf(row, column), text)
    rewritten += 1
  }
  if (rewritten > 0) tx.wroteRow()
  const last = rows.at(-1)
  const next: Position =
    last === undefined || rows.length < limit ? [index + 1] : [index, ...keysOf(last, column)]
  const isEnd = next[0] >= columns.length
  return { seen, rewritten, ...(!isEnd && { next: JSON.stringify(next) }) }
}

function keysOf(row: Row, { width }: Column): readonly Value[] {
  return Array.from({ length: width }, (_, index) => row[`key${index}`] ?? null)
}
