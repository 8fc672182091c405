/** What commits consist of besides the changes of their rules: counters, and rows that are stored at once. */
import { snakeCase } from '../../../core/snake-case.ts'
import { change, type Statement } from '../../../engine/statements.ts'
import { countNames } from '../../../engine/transaction.ts'
import { markingSql } from './commit-mark.ts'
import { type Gathered, insertSql } from './plain-inserts.ts'

const columns = countNames.map(snakeCase)

const addCountsSql = `
  INSERT INTO queue_count (queue, slot, ${columns.join(', ')})
  VALUES (${['queue', 'slot', ...columns].map(() => 'CAST(? AS BIGINT)').join(', ')})
  ON CONFLICT (queue, slot) DO UPDATE SET
    ${columns.map((name) => `${name} = queue_count.${name} + excluded.${name}`).join(', ')}`

export const addCounts: Statement = change(addCountsSql)

/** Values: channel, payload. It is delivered by the commit. */
const notifySql = 'pg_notify(CAST(? AS TEXT), CAST(? AS TEXT))'

export const notify: Statement = change(`SELECT ${notifySql}`)

/** Stores plain rows, counts them, and commits. */
const storeAlone = (kind: Gathered['kind']): string =>
  `WITH stored AS (${insertSql[kind]}), counted AS (${addCountsSql}), ${markingSql}`

type OfRows = Readonly<Record<Gathered['kind'], Statement>>

export const storingAlone: OfRows = {
  messages: change(`${storeAlone('messages')} FROM marked`),
  jobs: change(`${storeAlone('jobs')} FROM marked`),
}

/** The same, which also notifies: its values come last. */
export const storingAndNotifying: OfRows = {
  messages: change(`${storeAlone('messages')}, ${notifySql} FROM marked`),
  jobs: change(`${storeAlone('jobs')}, ${notifySql} FROM marked`),
}
