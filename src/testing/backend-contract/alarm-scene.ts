/** Alarms in a contract test: declared, read and evaluated. */
import assert from 'node:assert/strict'
import type {
  AlarmEvaluation,
  AlarmRecord,
  AlarmState,
  AlarmStore,
  NewNotification,
} from '../../backends/alarm-store.ts'
import type { AlarmRule } from '../../core/alarm-rule.ts'
import { minute, type Scene } from './scene.ts'

export function alarmsOf({ backend }: Scene): AlarmStore {
  assert.ok(backend.alarms !== null, 'the backend has no alarms')
  return backend.alarms
}

export function alarmRule(name: string, parts: Partial<AlarmRule> = {}): AlarmRule {
  return {
    name,
    description: null,
    severity: 'warning',
    metric: 'depth',
    of: 'q',
    statistic: 'maximum',
    periodMs: minute,
    evaluationPeriods: 1,
    datapointsToAlarm: 1,
    threshold: 100,
    comparison: 'above',
    missingData: 'missing',
    targets: [],
    ...parts,
  }
}

export async function declareRules(scene: Scene, ...rules: readonly AlarmRule[]): Promise<void> {
  await alarmsOf(scene).declareAlarms({ owner: 'app', rules })
}

export async function readAlarm(scene: Scene, alarm: string): Promise<AlarmRecord> {
  const record = await alarmsOf(scene).readAlarm({ alarm })
  assert.ok(record !== undefined, `there is no alarm ${alarm}`)
  return record
}

interface Result {
  readonly to: AlarmState
  readonly evaluatedAt: number
  readonly notify?: readonly NewNotification[]
}

export function evaluationOf(record: AlarmRecord, result: Result): AlarmEvaluation {
  const { alarm, revision, state: from } = record
  return { alarm, revision, from, reason: 'because', notify: [], ...result }
}

/** Whether the state has changed. */
export async function evaluate(
  scene: Scene,
  record: AlarmRecord,
  result: Result,
): Promise<boolean> {
  const evaluations = [evaluationOf(record, result)]
  return (await alarmsOf(scene).recordEvaluations({ evaluations })).length > 0
}
