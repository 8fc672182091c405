/**
 * Findings: what the janitor has found, so that each is reported once, whichever process finds it and
 * however often they are restarted.
 */
export interface FindingStore {
  /**
   * Writes down what is there now: what has gone is forgotten, what is new is remembered. Answers
   * what has been there for long enough and was answered to nobody before.
   */
  note(request: NoteFindings): Promise<readonly Finding[]>
  /** Those that were reported and are still there, the oldest first. */
  list(request: ListFindings): Promise<readonly Finding[]>
}

export type FindingKind =
  | 'stuck_pending'
  | 'stuck_processing'
  | 'overdue_flow'
  | 'stuck_collector_key'

/** Of one app, or of the whole store: `''`. */
export interface FindingScope {
  readonly scope: string
}

export interface NewFinding {
  /** The queue, flow or collector, by its name in the store. */
  readonly place: string
  /** The job, the flow's id, the key. */
  readonly id: string
  /** The job type. */
  readonly type: string | null
  /** Default: when it was noted first. */
  readonly since?: number
}

export interface Finding extends NewFinding, FindingScope {
  readonly kind: FindingKind
  readonly since: number
}

export interface NoteFindings extends FindingScope {
  readonly kind: FindingKind
  readonly found: readonly NewFinding[]
  /**
   * There may be more than were found, so what is not among them need not have gone. It is forgotten
   * when nobody has found it for ten minutes.
   */
  readonly isPartial: boolean
  /** Something is only reported when it is there again so long after it was noted first. */
  readonly confirmAfterMs: number
}

export interface ListFindings extends Partial<FindingScope> {
  readonly kind?: FindingKind
  readonly limit: number
}
