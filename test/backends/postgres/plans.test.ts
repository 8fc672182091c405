/**
 * Postgres plans a statement once for each connection, often while the tables are empty or nearly so, and
 * keeps the plan when they are full. So each plan must read no more rows than the statement needs, whatever
 * the statistics say.
 */
import assert from 'node:assert/strict'
import pg from 'pg'
import { afterAll, beforeAll, describe, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import { begin } from '../../../src/backends/postgres/driver/connections.ts'
import { namesOfSchema } from '../../../src/backends/postgres/driver/migrate.ts'
import { StatementTexts } from '../../../src/backends/postgres/driver/statement-texts.ts'
// Loads the modules that declare them.
import { openPostgres } from '../../../src/backends/postgres/index.ts'
import { declaredStatements, type Statement } from '../../../src/engine/statements.ts'
import { freshDatabase } from '../../services/fresh-database.ts'

/** Their rows are as many as the queues, apps, processes or operators' actions, and not as the messages. */
const smallTables: ReadonlySet<string> = new Set([
  ...['store', 'schema_version', 'queue', 'queue_count', 'deleted_queue', 'discarded_generation'],
  ...['kill_switch', 'kill_switch_event', 'alarm', 'stack', 'encryption_key', 'inbox_queue'],
  ...['budget', 'declared_budget', 'metric_base', 'metric_clock', 'metric_handlers', 'metric_name'],
  ...['move_task', 'finding', 'commit_mark', 'message_sequence'],
])

/** A new key for all texts: pages of a whole table, in the order of its key. */
const rewriting = /^SELECT .* AS text FROM /

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Filter?: string
  readonly Plans?: readonly Plan[]
}

describe('the plan of every statement of the engine', () => {
  const schema = 'planned'
  const texts = new StatementTexts(schema, namesOfSchema())
  let client: pg.Client
  let backend: Backend
  /** The first column of each index, and of each key. */
  const firstColumns = new Map<string, string>()

  beforeAll(async () => {
    const { url } = await freshDatabase()
    backend = (await openPostgres({ url, schema })).backend
    client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query<{
      index: string
      table: string
      key: string
      own: boolean
    }>(`
      SELECT index.relname AS index, owner.relname AS table, attname AS key, indisprimary AS own
      FROM pg_index
      JOIN pg_class AS index ON index.oid = indexrelid
      JOIN pg_class AS owner ON owner.oid = indrelid
      JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
      WHERE index.relnamespace = '${schema}'::regnamespace`)
    for (const { index, table, key, own } of rows) {
      firstColumns.set(index, key)
      if (own) firstColumns.set(table, key)
    }
    assert.ok(declaredStatements.length > 400, `only ${declaredStatements.length} are declared`)
    for (const statement of declaredStatements) {
      await client.query(`PREPARE s${statement.slot} AS ${texts.of(statement)}`)
    }
  })

  afterAll(async () => {
    await client.end()
    await backend.close()
  })

  test('finds rows by keys on an empty store without statistics', () => assertGoodPlans())

  test('finds rows by keys when the statistics say that all tables are empty', async () => {
    await client.query('ANALYZE')
    await assertGoodPlans()
  })

  test('finds rows by keys when the statistics know a few rows', async () => {
    await fill(backend)
    await client.query('ANALYZE')
    await assertGoodPlans()
  })

  test('finds rows by keys when tables are empty again and have kept their pages', async () => {
    for (const table of ['message', 'finished_job', 'flow', 'flow_unit']) {
      await client.query(`DELETE FROM ${schema}.${table}`)
      await client.query(`VACUUM (ANALYZE, TRUNCATE false) ${schema}.${table}`)
    }
    await assertGoodPlans()
  })

  async function assertGoodPlans(): Promise<void> {
    await client.query('DISCARD PLANS')
    await client.query(begin)
    try {
      const problems: string[] = []
      for (const statement of declaredStatements) problems.push(...(await problemsOf(statement)))
      assert.deepEqual(problems, [])
    } finally {
      await client.query('ROLLBACK')
    }
  }

  async function problemsOf(statement: Statement): Promise<readonly string[]> {
    const text = texts.of(statement).replaceAll(/\s+/g, ' ').trim()
    if (rewriting.test(text)) return []
    const numbers = [...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number))
    const count = Math.max(0, ...numbers)
    const values = count === 0 ? '' : `(${Array.from({ length: count }, () => 'NULL').join(', ')})`
    const explain = `EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE s${statement.slot}${values}`
    const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ Plan: Plan }] }>(explain)
    const plan = rows[0]?.['QUERY PLAN'][0].Plan ?? assert.fail()
    return nodesOf(plan).flatMap((node) => {
      const problem = problemOf(node)
      return problem === undefined ? [] : [`${problem}: ${text}`]
    })
  }

  function problemOf(node: PlacedPlan): string | undefined {
    const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index } = node.plan
    const { 'Index Cond': condition = '', Filter: filter = '' } = node.plan
    if (smallTables.has(table)) return undefined
    if (type === 'Seq Scan') return `reads all of ${table}`
    if (index === undefined) return undefined
    const isKeyed = mentions(condition, firstColumns.get(index))
    // The first rows in the order of an index, whichever they are.
    const isBounded = condition === '' && filter === '' && node.isLimited
    if (!isKeyed && !isBounded) return `reads all of ${index} (${condition}; then ${filter})`
    const isLate = !isBounded && equates(filter, firstColumns.get(table))
    return isLate ? `looks for a key of ${table} in ${index}: ${filter}` : undefined
  }
})

interface PlacedPlan {
  readonly plan: Plan
  /** Nothing between a limit and this reads more rows than it returns. */
  readonly isLimited: boolean
}

function nodesOf(plan: Plan, isLimited = false): readonly PlacedPlan[] {
  const passesOn = plan['Node Type'] === 'Limit' || (isLimited && plan['Node Type'] === 'LockRows')
  return [{ plan, isLimited }, ...(plan.Plans ?? []).flatMap((part) => nodesOf(part, passesOn))]
}

function mentions(condition: string, column = ''): boolean {
  return new RegExp(`\\b${column}\\b`).test(condition)
}

/** Whether rows are looked for by a single value of the column, or by several. */
function equates(filter: string, column = ''): boolean {
  return new RegExp(`\\(${column} = `).test(filter)
}

/** A few rows of the tables that every store uses. */
async function fill(backend: Backend): Promise<void> {
  const queue = 'q'
  await backend.createQueue({ queue })
  const messages = Array.from({ length: 5 }, (_, index) => ({ body: `m${index}` }))
  await backend.send({ queue, messages })
  const job = { type: 'OCR', payload: '1' }
  await backend.jobs?.enqueue({ queue, jobs: [job, job, job] })
  const deliveries = await backend.receive({ queue, max: 8 })
  const outcome = { kind: 'acknowledge' } as const
  const settlements = deliveries.slice(4).map(({ receipt }) => ({ receipt, outcome }))
  await backend.settle({ queue, settlements })
  await backend.send({ queue, messages })
  await backend.flows?.open({
    ...{ flow: 'pages', id: 'book', sealed: true, onUnitFailure: 'wait', keepMs: 86_400_000 },
    units: ['a', 'b', 'c'].map((id) => ({ id, work: { queue, message: { body: id } } })),
  })
}
