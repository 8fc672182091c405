/**
 * A file that no number of attempts will make better. The reason is written for whoever uploaded it: it
 * quotes nothing of the file.
 */
export const badDocumentReasons = {
  empty_file: 'The file is empty.',
  wrong_type: 'The content is not what the name says.',
  encrypted: 'The file is protected by a password.',
  broken: 'The file is damaged and cannot be read.',
  too_large: 'The file is larger than 100 MB.',
  too_many_pages: 'The document has more than 2,000 pages.',
  unpacks_too_large: 'The file unpacks to more than it may.',
  no_text: 'The document has no text; scanned pages need text recognition first.',
} as const

export type BadDocumentReason = keyof typeof badDocumentReasons

export class BadDocument extends Error {
  /** What Millrace looks at: a handler that lets it through is not run again. */
  override readonly name = 'UnrecoverableError'
  readonly reason: BadDocumentReason

  constructor(reason: BadDocumentReason, cause?: unknown) {
    super(badDocumentReasons[reason], { cause })
    this.reason = reason
  }
}
