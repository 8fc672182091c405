/** Reads a store with independent SQL, to compare it with what the engine reports. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { brokenFlows } from './flow-inspection.ts'

/** Checks that the file is not corrupt, and that every counter and group row matches the messages. */
export function assertSoundStore(file: string): void {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    assert.deepEqual(db.prepare('PRAGMA integrity_check').all().map(plain), [
      { integrity_check: 'ok' },
    ])
    for (const query of brokenRows) assert.deepEqual(rows(db, query), [], query)
  } finally {
    db.close()
  }
}

const differingCounters = `
  SELECT * FROM (
    SELECT name, coalesce(ready, 0) AS ready, coalesce(leased, 0) AS leased,
      coalesce(delayed, 0) AS delayed,
      (SELECT count(*) FROM message m WHERE m.generation = q.generation AND state IN (0, 3))
        AS counted_ready,
      (SELECT count(*) FROM message m WHERE m.generation = q.generation AND state = 1)
        AS counted_leased,
      (SELECT count(*) FROM message m WHERE m.generation = q.generation AND state = 2)
        AS counted_delayed
    FROM queue q LEFT JOIN queue_total t ON t.queue = q.id
  ) AS counts
  WHERE ready <> counted_ready OR leased <> counted_leased OR delayed <> counted_delayed`

/** Groups of FIFO queues whose head, lock or turn does not match their messages. */
const differingGroups = `
  WITH counted AS (
    SELECT m.generation, group_name AS name,
      min(CASE state WHEN 0 THEN sequence END) AS head,
      min(CASE state WHEN 1 THEN sequence END) AS first_leased
    FROM message m JOIN queue q ON q.generation = m.generation
    WHERE q.name LIKE '%.fifo' AND state IN (0, 1)
    GROUP BY m.generation, group_name
  ),
  expected AS (
    SELECT c.*, coalesce(head < coalesce(first_leased, head + 1), false) AS is_open FROM counted c
  ),
  kept AS (
    SELECT g.generation, g.name, head, first_leased, turn IS NOT NULL AS is_open
    FROM fifo_group g JOIN queue q ON q.generation = g.generation
    -- The row of a group that only has delayed messages rests.
    WHERE head IS NOT NULL OR first_leased IS NOT NULL OR turn IS NOT NULL OR NOT EXISTS (
      SELECT 1 FROM message m
      WHERE m.generation = g.generation AND m.group_name = g.name AND state = 2
    )
  )
  SELECT 'counted' AS side, missing.* FROM (SELECT * FROM expected EXCEPT SELECT * FROM kept) AS missing
  UNION ALL
  SELECT 'kept' AS side, extra.* FROM (SELECT * FROM kept EXCEPT SELECT * FROM expected) AS extra`

/** Tenants of standard queues whose in-flight count does not match their messages. */
const differingTenants = `
  WITH counted AS (
    SELECT m.generation, group_name AS name, count(*) AS leased
    FROM message m JOIN queue q ON q.generation = m.generation
    WHERE q.name NOT LIKE '%.fifo' AND state = 1 AND group_name IS NOT NULL
    GROUP BY m.generation, group_name
  ),
  kept AS (
    SELECT t.generation, t.name, leased FROM tenant t JOIN queue q ON q.generation = t.generation
  )
  SELECT 'counted' AS side, missing.* FROM (SELECT * FROM counted EXCEPT SELECT * FROM kept) AS missing
  UNION ALL
  SELECT 'kept' AS side, extra.* FROM (SELECT * FROM kept EXCEPT SELECT * FROM counted) AS extra`

/** Large bodies without a message, and messages without their large body. */
const strayBodies = `
  SELECT sequence FROM message_body WHERE sequence NOT IN (SELECT sequence FROM message)
  UNION ALL
  SELECT sequence FROM message
  WHERE body IS NULL AND sequence NOT IN (SELECT sequence FROM message_body)`

/** Messages in a bucket that are neither blocked nor leased, blocked messages in no bucket, and any on FIFO. */
const strayLanes = `
  SELECT m.sequence, state, bucket, q.name
  FROM message m LEFT JOIN queue q ON q.generation = m.generation
  WHERE (state = 3) <> coalesce(bucket > '', false) OR (bucket = '' AND state <> 1)
    OR (state = 3 AND q.name LIKE '%.fifo')`

/** Attempts, progress, failures, logs and spending of jobs that are neither waiting nor finished. */
const strayHistory = ['job_attempt', 'job_progress', 'job_failure', 'job_log', 'job_spending']
  .map(
    (table) => `
      SELECT number FROM ${table}
      WHERE number NOT IN (SELECT sequence FROM message WHERE job_type IS NOT NULL)
        AND number NOT IN (SELECT number FROM finished_job)`,
  )
  .join(' UNION ALL ')

/** Claims of people on messages that are leased by another receiver, or not leased. */
const strayClaims = `
  SELECT c.sequence, c.by FROM inbox_claim c
  JOIN message m ON m.sequence = c.sequence AND m.generation = c.generation
  WHERE m.state <> 1 OR m.token <> c.token`

/** Collector keys without staged or kept items, and kept batches without items or key. */
const emptyKeys = `
  SELECT collector, key FROM collector_key WHERE number NOT IN (SELECT key FROM collector_item)
    AND NOT (kept = 0 AND (collector, key) IN (SELECT collector, key FROM collector_key WHERE kept = 1))
  UNION ALL SELECT collector, key FROM collector_key
  WHERE kept = 1 AND (collector, key) NOT IN (SELECT collector, key FROM collector_key WHERE kept = 0)`

/** Items without a key; and, if ids are recorded, items and ids that do not match. */
const strayItems = `
  WITH staged AS (
    SELECT k.collector, k.key, i.id FROM collector_item i JOIN collector_key k ON k.number = i.key
    WHERE noted = 1
  ),
  noted AS (SELECT collector, key, id FROM collector_memory WHERE expires_at IS NULL)
  SELECT CAST(key AS TEXT), id FROM collector_item WHERE key NOT IN (SELECT number FROM collector_key)
  UNION ALL SELECT key, id FROM (SELECT * FROM staged EXCEPT SELECT * FROM noted) AS missing
  UNION ALL SELECT key, id FROM (SELECT * FROM noted EXCEPT SELECT * FROM staged) AS extra`

/** Queries for either database that return what must not be there. */
export const brokenRows: readonly string[] = [
  differingCounters,
  differingGroups,
  differingTenants,
  strayBodies,
  strayLanes,
  strayHistory,
  emptyKeys,
  strayItems,
  ...brokenFlows,
  strayClaims,
]

function rows(db: DatabaseSync, sql: string): unknown[] {
  return db.prepare(sql).all().map(plain)
}

/** Rows have no prototype, which a strict comparison would reject. */
function plain(row: object): object {
  return { ...row }
}
