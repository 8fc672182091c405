/** Plain messages and jobs as one statement stores them, however many there are. */
import { unleasedToken } from '../../../engine/messages/message-rows.ts'
import type { PlainJob } from '../../../engine/messages/native-messages.ts'
import type { Queue } from '../../../engine/queues/queue.ts'
import type { Value } from '../../../engine/statements.ts'
import { arrayOf } from './arrays.ts'

interface Numbered {
  readonly queue: Queue
  readonly sequences: number[]
  readonly bodies: string[]
}

export interface GatheredMessages extends Numbered {
  readonly kind: 'messages'
  readonly expiresAt: number | null
}

export interface GatheredJobs extends Numbered {
  readonly kind: 'jobs'
  readonly jobs: PlainJob[]
}

/** Rows of one queue that wait to be stored. */
export type Gathered = GatheredMessages | GatheredJobs

const columns =
  'sequence, generation, state, due_at, token, leased_at, receive_count, sent_at, body'
const generation = 'CAST(? AS BIGINT)'
const now = 'CAST(? AS BIGINT)'
const newRow = `number, ${generation}, 0, ${now}, ${unleasedToken}, ${now}, 0, ${now}, body`
const texts = 'CAST(? AS TEXT[])'

export const insertSql: Readonly<Record<Gathered['kind'], string>> = {
  messages: `
    INSERT INTO message (${columns}, expires_at)
    SELECT ${newRow}, CAST(? AS BIGINT)
    FROM unnest(CAST(? AS BIGINT[]), ${texts}) AS given (number, body)`,
  jobs: `
    INSERT INTO message (${columns}, job_type, job_owner, job)
    SELECT ${newRow}, type, owner, details
    FROM unnest(CAST(? AS BIGINT[]), ${texts}, ${texts}, ${texts}, ${texts})
      AS given (number, body, type, owner, details)`,
}

export function insertValues(rows: Gathered, at: number): readonly Value[] {
  const { queue, sequences, bodies } = rows
  const row = [queue.generation, at, at, at] as const
  const numbered = [arrayOf(sequences), arrayOf(bodies)] as const
  if (rows.kind === 'messages') return [...row, rows.expiresAt, ...numbered]
  return [
    ...row,
    ...numbered,
    arrayOf(rows.jobs.map(({ type }) => type)),
    arrayOf(rows.jobs.map(({ owner }) => owner)),
    arrayOf(rows.jobs.map(({ details }) => details)),
  ]
}

/** Whether rows could be added to others. */
export function joined(others: Gathered, rows: Gathered): boolean {
  if (others.queue.generation !== rows.queue.generation) return false
  if (others.kind === 'jobs' && rows.kind === 'jobs') others.jobs.push(...rows.jobs)
  else if (others.kind !== rows.kind || !hasSameExpiry(others, rows)) return false
  others.sequences.push(...rows.sequences)
  others.bodies.push(...rows.bodies)
  return true
}

function hasSameExpiry(others: Gathered, rows: Gathered): boolean {
  return (
    others.kind === 'messages' && rows.kind === 'messages' && others.expiresAt === rows.expiresAt
  )
}
