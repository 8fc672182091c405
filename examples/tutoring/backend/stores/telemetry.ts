/**
 * The events of attempts, in order. A message is stored once, even if it is delivered or sent again: the key of
 * its row is the deduplication id, a hash of its content.
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

/** Identifies and orders the messages of the queue. */
export interface StreamPosition {
  readonly deduplicationId: string
  /** 20 digits, so that text order is number order. */
  readonly sequence: string
}

export interface TelemetryEvent extends AttemptStreamMessage {
  readonly sequence: string
}

export interface Telemetry extends Disposable {
  /** False if it was already stored. */
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
