/**
 * Measures the content of a ZIP file before it is unpacked in memory. The sizes in the directory are trusted only
 * after every entry was checked against them.
 */
import { createInflateRaw } from 'node:zlib'

export interface UnpackedBytes {
  readonly all: number
  /** The size of the XML entries. Parsing them takes many times their size. */
  readonly xml: number
}

const signatures = { end: 0x06054b50, entry: 0x02014b50, content: 0x04034b50 }
const endBytes = 22
const entryBytes = 46
const contentHeaderBytes = 30
/** A comment may follow the end record. */
const commentBytesMax = 65_535
const methods = { stored: 0, deflated: 8 }

interface Entry {
  readonly isXml: boolean
  readonly method: number
  readonly packed: Buffer
  /** The size in the directory. */
  readonly bytes: number
}

/**
 * Undefined if the file has no valid directory, or if an entry has another size than the directory says. A file
 * whose directory exceeds `bytesMax` is not unpacked at all.
 */
export async function unpackedBytes(
  file: Buffer,
  bytesMax: number,
): Promise<UnpackedBytes | undefined> {
  const entries = entriesOf(file)
  if (entries === undefined) return undefined
  const sum = (some: readonly Entry[]): number => some.reduce((total, one) => total + one.bytes, 0)
  const unpacked = { all: sum(entries), xml: sum(entries.filter(({ isXml }) => isXml)) }
  if (unpacked.all > bytesMax) return unpacked
  for (const entry of entries) if (!(await isAsLarge(entry))) return undefined
  return unpacked
}

function entriesOf(file: Buffer): readonly Entry[] | undefined {
  const end = endOf(file)
  if (end === undefined) return undefined
  const entries: Entry[] = []
  let at = file.readUInt32LE(end + 16)
  for (let left = file.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (at + entryBytes > end || file.readUInt32LE(at) !== signatures.entry) return undefined
    const nameBytes = file.readUInt16LE(at + 28)
    const name = file.toString('latin1', at + entryBytes, at + entryBytes + nameBytes)
    const packed = contentAt(file, file.readUInt32LE(at + 42), file.readUInt32LE(at + 20))
    if (packed === undefined) return undefined
    entries.push({
      isXml: /\.(?:xml|rels)$/i.test(name),
      method: file.readUInt16LE(at + 10),
      packed,
      bytes: file.readUInt32LE(at + 24),
    })
    at += entryBytes + nameBytes + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32)
  }
  return entries
}

function contentAt(file: Buffer, at: number, bytes: number): Buffer | undefined {
  if (at + contentHeaderBytes > file.byteLength) return undefined
  if (file.readUInt32LE(at) !== signatures.content) return undefined
  const names = file.readUInt16LE(at + 26) + file.readUInt16LE(at + 28)
  const start = at + contentHeaderBytes + names
  return start + bytes > file.byteLength ? undefined : file.subarray(start, start + bytes)
}

/** Unpacks without keeping the output, and stops at the size in the directory. */
async function isAsLarge({ method, packed, bytes }: Entry): Promise<boolean> {
  if (method === methods.stored) return packed.byteLength === bytes
  if (method !== methods.deflated) return false
  const inflate = createInflateRaw()
  inflate.end(packed)
  let unpacked = 0
  try {
    for await (const chunk of inflate) {
      unpacked += (chunk as Buffer).byteLength
      if (unpacked > bytes) return false
    }
  } catch {
    return false
  }
  return unpacked === bytes
}

function endOf(file: Buffer): number | undefined {
  const first = Math.max(0, file.byteLength - endBytes - commentBytesMax)
  for (let at = file.byteLength - endBytes; at >= first; at -= 1) {
    if (file.readUInt32LE(at) === signatures.end) return at
  }
  return undefined
}
