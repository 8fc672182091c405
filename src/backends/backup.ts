/** A copy of a store in use: request, progress and result. */
export interface Backup {
  /** Where the copy will be; no file has this name before it is complete and verified. */
  readonly file: string
  readonly onProgress?: (progress: BackupProgress) => void
  /** Aborting leaves no file behind. */
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
