/**
 * Copies a file piece by piece, so that it can be stopped on the way. A read that fails and a
 * write that fails give different errors.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { sourceFault } from './copy-faults.ts'

const stepBytes = 2 ** 20

export interface CopyInSteps {
  readonly from: string
  /** Only its owner may read it. */
  readonly to: string
  /** Told after each piece; what it throws ends the copy. */
  readonly onStep: (bytes: number) => void
}

export async function copyInSteps({ from, to, onStep }: CopyInSteps): Promise<void> {
  const unreadable = (error: unknown): never => {
    throw sourceFault(from, error)
  }
  await using source = await open(from, 'r').catch(unreadable)
  await using target = await open(to, 'w', 0o600)
  const piece = Buffer.allocUnsafe(stepBytes)
  for (;;) {
    const bytes = await readPiece(source, piece).catch(unreadable)
    if (bytes === 0) return
    await target.writeFile(piece.subarray(0, bytes))
    onStep(bytes)
  }
}

async function readPiece(source: FileHandle, piece: Buffer): Promise<number> {
  const { bytesRead } = await source.read(piece, 0, piece.length)
  return bytesRead
}
