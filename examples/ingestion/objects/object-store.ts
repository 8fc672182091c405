/** Where uploads and the cache lie: objects with a key, a type and content, in a folder or in S3. */

export interface ObjectFacts {
  readonly bytes: number
  readonly contentType: string
}

export interface UploadRequest {
  readonly key: string
  /** The upload must be of this type. */
  readonly contentType: string
  readonly bytesMax: number
  readonly expiresInMs: number
}

/** What a browser does to upload: a PUT with these headers, or a form with these fields before the file. */
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
  /** Lets somebody without credentials upload one object, for a while. */
  ticketFor(request: UploadRequest): Promise<UploadTicket>
  put(key: string, content: Uint8Array | string, contentType: string): Promise<void>
  /** Throws `ObjectMissing`. */
  get(key: string): Promise<Buffer>
  /** Undefined when there is no such object. */
  head(key: string): Promise<ObjectFacts | undefined>
}

export class ObjectMissing extends Error {
  override readonly name = 'ObjectMissing'

  constructor() {
    super('There is no such object.')
  }
}
