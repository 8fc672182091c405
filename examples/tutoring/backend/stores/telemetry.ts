/**
 * What happened to attempts, in the order in which it happened. A message is stored once, however
 * often it is delivered or sent: its deduplication id is a hash of its contents and the key of its row.
 */

import { Database, type Row } from '../../../shared/database.ts'
import type { AttemptStreamMessage, ClassifierSource } from '../messages.ts'

const schema = `
  CREATE TABLE IF NOT EXISTS telemetry (
    deduplication_id TEXT PRIMARY KEY, attempt_id TEXT NOT NULL, sequence TEXT NOT NULL,
    student_id TEXT NOT NULL, exercise_id TEXT, error_tag_id TEXT, classifier_source TEXT NOT NULL,
    is_correct INTEGER NOT NULL, trace_id TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS telemetry_by_attempt ON telemetry (attempt_id, sequence);`

/** How the queue tells messages apart and orders them. */
export interface StreamPosition {
  readonly deduplicationId: string
  /** 20 digits, so that the order of texts is the order of numbers. */
  readonly sequence: string
}

export interface TelemetryEvent extends AttemptStreamMessage {
  readonly sequence: string
}

export interface Telemetry extends Disposable {
  /** False when it was there already. */
  add(message: AttemptStreamMessage, position: StreamPosition): boolean
  ofAttempt(attemptId: string): readonly TelemetryEvent[]
}

export function openTelemetry(file: string): Telemetry {
  const database = new Database(file, schema)
  return {
    add: (message, { deduplicationId, sequence }) =>
      database.run(
        'INSERT INTO telemetry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',

        deduplicationId,
        message.attemptId,
        sequence,
        message.studentId,
        message.exerciseId,
        message.errorTagId,
        message.classifierSource,
        Number(message.isCorrect),
        message.traceId,
      ) === 1,
    ofAttempt: (attemptId) =>
      database
        .all('SELECT * FROM telemetry WHERE attempt_id = ? ORDER BY sequence', attemptId)
        .map(toEvent),
    [Symbol.dispose]: () => database[Symbol.dispose](),
  }
}

function toEvent(row: Row): TelemetryEvent {
  const { exercise_id: exercise, error_tag_id: tag } = row
  return {
    attemptId: String(row['attempt_id']),
    studentId: String(row['student_id']),
    exerciseId: typeof exercise === 'string' ? exercise : null,
    errorTagId: typeof tag === 'string' ? tag : null,
    // Only checked messages are stored.
    classifierSource: row['classifier_source'] as ClassifierSource,
    isCorrect: row['is_correct'] === 1,
    traceId: String(row['trace_id']),
    sequence: String(row['sequence']),
  }
}
