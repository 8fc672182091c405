/** Invariants of flows, units and messages, as queries that must return no rows. */

/** Flows whose counts do not match their units. */
const differingCounts = `
  SELECT name, id, total, done, dead FROM flow
  WHERE total <> (SELECT count(*) FROM flow_unit u WHERE u.flow = flow.number)
    OR done <> (SELECT count(*) FROM flow_unit u WHERE u.flow = flow.number AND state = 1)
    OR dead <> (SELECT count(*) FROM flow_unit u WHERE u.flow = flow.number AND state = 2)`

/** Open flows that should have ended with their last unit. */
const missedEnds = `
  SELECT name, id FROM flow
  WHERE status = 'open' AND sealed = 1
    AND NOT EXISTS (
      SELECT 1 FROM flow_unit u
      WHERE u.flow = flow.number AND (state = 0 OR (state = 2 AND policy <> 'finalize'))
    )`

/** Finalized flows with an open unit, and without a deadline that finalizes. */
const earlyEnds = `
  SELECT name, id FROM flow
  WHERE status = 'finalized' AND on_deadline <> 'finalize' AND (
    sealed = 0 OR EXISTS (SELECT 1 FROM flow_unit u WHERE u.flow = flow.number AND state = 0)
  )`

/** Messages and units that do not refer to each other. */
const mismatchedMessages = `
  SELECT 'message' AS side, m.sequence, m.unit FROM message m JOIN flow_unit u ON u.number = m.unit
  WHERE u.message IS DISTINCT FROM m.sequence
  UNION ALL
  SELECT 'unit', u.message, u.number FROM flow_unit u
  WHERE u.message IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM message m WHERE m.sequence = u.message AND m.unit = u.number
  )`

/** Units of open flows that wait for a message that does not exist, and for no other flow. */
const strandedUnits = `
  SELECT f.name, f.id, u.id AS unit FROM flow_unit u JOIN flow f ON f.number = u.flow
  WHERE f.status = 'open' AND u.state = 0 AND u.started = 1 AND u.message IS NULL
    AND NOT EXISTS (SELECT 1 FROM flow c WHERE c.parent = u.number AND c.status = 'open')
    AND NOT EXISTS (SELECT 1 FROM flow c WHERE c.parent = u.number AND c.end_message = 'finalize')`

/** Rows that belong to no flow. */
const strayRows = `
  SELECT 'unit' AS kind, number FROM flow_unit
  WHERE flow NOT IN (SELECT number FROM flow) AND flow NOT IN (SELECT number FROM discarded_flow)
  UNION ALL
  SELECT 'text', flow FROM flow_text WHERE flow NOT IN (SELECT number FROM flow)
  UNION ALL
  SELECT 'spending', flow FROM flow_spending WHERE flow NOT IN (SELECT number FROM flow)
  UNION ALL
  SELECT 'work', unit FROM unit_work WHERE unit NOT IN (SELECT number FROM flow_unit)`

export const brokenFlows: readonly string[] = [
  differingCounts,
  missedEnds,
  earlyEnds,
  mismatchedMessages,
  strandedUnits,
  strayRows,
]
