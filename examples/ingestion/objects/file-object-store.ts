/** Objects as files in a folder. Browsers upload to our own server, with signed URLs. */
import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { sourceTypes } from '../stages/source-types.ts'
import { isObjectKey } from './object-key.ts'
import {
  type ObjectFacts,
  ObjectMissing,
  type ObjectStore,
  type UploadRequest,
  type UploadTicket,
} from './object-store.ts'
import type { UploadSigner } from './upload-signature.ts'

/** The type follows from the extension, because we choose all names. */
const typeOf: Readonly<Record<string, string>> = {
  '.pdf': sourceTypes.pdf,
  '.docx': sourceTypes.docx,
  '.png': 'image/png',
  '.json': 'application/json',
}

export class TooLarge extends Error {
  override readonly name = 'TooLarge'
}

export class ObjectExists extends Error {
  override readonly name = 'ObjectExists'
}

export interface FileStoreSetup {
  readonly folder: string
  /** Only needed by a store that takes uploads. */
  readonly uploads?: {
    readonly signer: UploadSigner
    /** The URL of the server that handles `PUT /objects/...`, such as `http://127.0.0.1:3000`. */
    readonly url: () => string
    readonly now: () => number
  }
}

export class FileObjectStore implements ObjectStore {
  readonly #setup: FileStoreSetup

  constructor(setup: FileStoreSetup) {
    this.#setup = setup
  }

  async ticketFor(request: UploadRequest): Promise<UploadTicket> {
    const { uploads } = this.#setup
    if (uploads === undefined) throw new Error('This store takes no uploads.')
    const { key, contentType, bytesMax, expiresInMs } = request
    const expiresAt = uploads.now() + expiresInMs
    const query = uploads.signer.sign({ key, contentType, bytesMax, expiresAt })
    const url = `${uploads.url()}/objects/${key}?${query}`
    return { url, method: 'PUT', headers: { 'content-type': contentType } }
  }

  async put(key: string, content: Uint8Array | string): Promise<void> {
    const file = this.#path(key)
    await this.#whole(file, async (part) => {
      await writeFile(part, content)
      await rename(part, file)
    })
  }

  /** Writes an upload as it arrives. An object is complete or missing, and never replaced. */
  async receive(key: string, content: Readable, bytesMax: number): Promise<void> {
    const file = this.#path(key)
    await this.#whole(file, async (part) => {
      await pipeline(content, cutAt(bytesMax), createWriteStream(part, { flush: true }))
      await link(part, file).catch((error: unknown) => {
        throw isCode(error, 'EEXIST') ? new ObjectExists() : error
      })
    })
  }

  async get(key: string): Promise<Buffer> {
    try {
      return await readFile(this.#path(key))
    } catch (error) {
      throw isCode(error, 'ENOENT') ? new ObjectMissing() : error
    }
  }

  async head(key: string): Promise<ObjectFacts | undefined> {
    try {
      const { size } = await stat(this.#path(key))
      return { bytes: size, contentType: typeOf[extname(key)] ?? 'application/octet-stream' }
    } catch (error) {
      if (isCode(error, 'ENOENT')) return undefined
      throw error
    }
  }

  #path(key: string): string {
    if (!isObjectKey(key)) throw new Error('An object key must consist of names separated by /.')
    return join(this.#setup.folder, key)
  }

  /** Writes to a temporary file first, so an interrupted write leaves nothing. */
  async #whole(file: string, write: (part: string) => Promise<void>): Promise<void> {
    await mkdir(dirname(file), { recursive: true })
    const part = `${file}.${randomUUID()}.part`
    try {
      await write(part)
    } finally {
      await rm(part, { force: true })
    }
  }
}

function cutAt(bytesMax: number): Transform {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.byteLength
      if (bytes > bytesMax) done(new TooLarge())
      else done(null, chunk)
    },
  })
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
