/**
 * A file that retries cannot fix. The reason is shown to the person who uploaded it, and contains nothing of the
 * file.
 */
export const badDocumentReasons = {
  empty_file: 'The file is empty.',
  wrong_type: 'The content does not match the file extension.',
  encrypted: 'The file is protected by a password.',
  broken: 'The file is damaged and cannot be read.',
  too_large: 'The file is larger than 100 MB.',
  too_many_pages: 'The document has more than 2,000 pages.',
  unpacks_too_large: 'The unpacked file is too large.',
  no_text: 'The document has no text; scanned pages need text recognition first.',
} as const

export type BadDocumentReason = keyof typeof badDocumentReasons

export class BadDocument extends Error {
  /** Millrace checks this property and does not retry the job. */
  override readonly name = 'UnrecoverableError'
  readonly reason: BadDocumentReason

  constructor(reason: BadDocumentReason, cause?: unknown) {
    super(badDocumentReasons[reason], { cause })
    this.reason = reason
  }
}
