/** Reads a closed store with independent SQL, to compare it with what the engine reports. */
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
    assert.deepEqual(rows(db, differingCounters), [])
    assert.deepEqual(rows(db, differingGroups), [])
    assert.deepEqual(rows(db, differingTenants), [])
    assert.deepEqual(rows(db, strayBodies), [])
    assert.deepEqual(rows(db, strayLanes), [])
    assert.deepEqual(rows(db, strayHistory), [])
    assert.deepEqual(rows(db, emptyKeys), [])
    assert.deepEqual(rows(db, strayItems), [])
    for (const query of brokenFlows) assert.deepEqual(rows(db, query), [])
    assert.deepEqual(rows(db, strayClaims), [])
  } finally {
    db.close()
  }
}

const differingCounters = `
  SELECT name, ready, leased, delayed, counted_ready, counted_leased, counted_delayed FROM (
    SELECT name, queue_count.*,
      (SELECT count(*) FROM message m WHERE m.generation = q.generation AND state IN (0, 3)) counted_ready,
      (SELECT count(*) FROM message m WHERE m.generation = q.generation AND state = 1) counted_leased,
      (SELECT count(*) FROM message m WHERE m.generation = q.generation AND state = 2) counted_delayed
    FROM queue q LEFT JOIN queue_count ON queue_count.queue = q.id
  )
  WHERE ready IS NOT counted_ready OR leased IS NOT counted_leased
    OR delayed IS NOT counted_delayed`

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
    SELECT c.*, head < coalesce(first_leased, head + 1) IS 1 AS is_open FROM counted c
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
  SELECT 'counted' AS side, * FROM (SELECT * FROM expected EXCEPT SELECT * FROM kept)
  UNION ALL
  SELECT 'kept' AS side, * FROM (SELECT * FROM kept EXCEPT SELECT * FROM expected)`

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
  SELECT 'counted' AS side, * FROM (SELECT * FROM counted EXCEPT SELECT * FROM kept)
  UNION ALL
  SELECT 'kept' AS side, * FROM (SELECT * FROM kept EXCEPT SELECT * FROM counted)`

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
  WHERE (state = 3) IS NOT coalesce(bucket > '', 0) OR (bucket = '' AND state <> 1)
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
  SELECT key, id FROM collector_item WHERE key NOT IN (SELECT number FROM collector_key)
  UNION ALL SELECT key, id FROM (SELECT * FROM staged EXCEPT SELECT * FROM noted)
  UNION ALL SELECT key, id FROM (SELECT * FROM noted EXCEPT SELECT * FROM staged)`

function rows(db: DatabaseSync, sql: string): unknown[] {
  return db.prepare(sql).all().map(plain)
}

/** Rows have no prototype, which a strict comparison would reject. */
function plain(row: object): object {
  return { ...row }
}
