/**
 * Findings: what the janitor has found, so that each is reported once, whichever process finds it and
 * however often they are restarted.
 */
export interface FindingStore {
  /**
   * Records what exists now: removes findings that are gone, adds new ones. Returns those that have
   * existed for long enough and were not returned before.
   */
  note(request: NoteFindings): Promise<readonly Finding[]>
  /** Those that were reported and still exist, the oldest first. */
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
   * There may be more than were found, so a finding that is not among them may still exist. It is removed
   * when no search has found it for ten minutes.
   */
  readonly isPartial: boolean
  /** A finding is reported only if it is found again this long after it was noted first. */
  readonly confirmAfterMs: number
}

export interface ListFindings extends Partial<FindingScope> {
  readonly kind?: FindingKind
  readonly limit: number
}
