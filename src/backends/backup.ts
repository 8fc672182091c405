/** A copy of a store in use: what to ask for, what is told on the way, and the result. */
export interface Backup {
  /** Where the copy will be; nothing is under this name before it is whole and verified. */
  readonly file: string
  readonly onProgress?: (progress: BackupProgress) => void
  /** Aborting it leaves no file behind. */
  readonly signal?: AbortSignal
}

export interface BackupProgress {
  readonly bytes: number
  readonly totalBytes: number
}

export interface BackupReport {
  /** Absolute. */
  readonly file: string
  readonly bytes: number
}
