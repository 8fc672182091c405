/** Objects in S3, or in a compatible service, with the AWS SDK. */
import {
  GetObjectCommand,
  HeadObjectCommand,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { createPresignedPost } from '@aws-sdk/s3-presigned-post'
import {
  type ObjectFacts,
  ObjectMissing,
  type ObjectStore,
  type UploadRequest,
  type UploadTicket,
} from './object-store.ts'

export interface S3StoreSetup {
  readonly client: S3Client
  readonly bucket: string
}

/** Stores in buckets of one region, or at another endpoint. */
export function s3Stores({
  region,
  endpoint,
}: {
  readonly region: string
  readonly endpoint: string | undefined
}): (bucket: string) => ObjectStore {
  const own = endpoint !== undefined && { endpoint, forcePathStyle: true }
  const client = new S3Client({ region, ...own })
  return (bucket) => new S3ObjectStore({ client, bucket })
}

export class S3ObjectStore implements ObjectStore {
  readonly #client: S3Client
  readonly #bucket: string

  constructor({ client, bucket }: S3StoreSetup) {
    this.#client = client
    this.#bucket = bucket
  }

  /** A form, because only its policy can limit the size of an upload. A signed PUT cannot. */
  async ticketFor(request: UploadRequest): Promise<UploadTicket> {
    const { key, contentType, bytesMax, expiresInMs } = request
    const { url, fields } = await createPresignedPost(this.#client, {
      Bucket: this.#bucket,
      Key: key,
      Fields: { 'Content-Type': contentType },
      Conditions: [
        ['content-length-range', 0, bytesMax],
        ['eq', '$Content-Type', contentType],
      ],
      Expires: Math.ceil(expiresInMs / 1_000),
    })
    return { url, method: 'POST', fields }
  }

  async put(key: string, content: Uint8Array | string, contentType: string): Promise<void> {
    await this.#client.send(
      new PutObjectCommand({
        Bucket: this.#bucket,
        Key: key,
        Body: content,
        ContentType: contentType,
      }),
    )
  }

  async get(key: string): Promise<Buffer> {
    try {
      const { Body } = await this.#client.send(
        new GetObjectCommand({ Bucket: this.#bucket, Key: key }),
      )
      return Buffer.from((await Body?.transformToByteArray()) ?? [])
    } catch (error) {
      throw error instanceof NoSuchKey ? new ObjectMissing() : error
    }
  }

  async head(key: string): Promise<ObjectFacts | undefined> {
    try {
      const { ContentLength = 0, ContentType = 'application/octet-stream' } =
        await this.#client.send(new HeadObjectCommand({ Bucket: this.#bucket, Key: key }))
      return { bytes: ContentLength, contentType: ContentType }
    } catch (error) {
      if (error instanceof NotFound) return undefined
      throw error
    }
  }
}
