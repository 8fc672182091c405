/** Stores uploads and the cache as objects with a key, a type and content, in a folder or in S3. */

export interface ObjectFacts {
  readonly bytes: number
  readonly contentType: string
}

export interface UploadRequest {
  readonly key: string
  /** The type that the upload must have. */
  readonly contentType: string
  readonly bytesMax: number
  readonly expiresInMs: number
}

/** How a browser uploads: a PUT with these headers, or a form with these fields before the file. */
export type UploadTicket =
  | {
      readonly url: string
      readonly method: 'PUT'
      readonly headers: Readonly<Record<string, string>>
    }
  | {
      readonly url: string
      readonly method: 'POST'
      readonly fields: Readonly<Record<string, string>>
    }

export interface ObjectStore {
  /** Creates permission to upload one object without credentials, for a limited time. */
  ticketFor(request: UploadRequest): Promise<UploadTicket>
  put(key: string, content: Uint8Array | string, contentType: string): Promise<void>
  /** Throws `ObjectMissing`. */
  get(key: string): Promise<Buffer>
  /** Undefined if the object does not exist. */
  head(key: string): Promise<ObjectFacts | undefined>
}

export class ObjectMissing extends Error {
  override readonly name = 'ObjectMissing'

  constructor() {
    super('The object does not exist.')
  }
}
