/** Sizes as text, rounded up, in the largest unit that leaves at least two digits. */
export interface ByteUnit {
  readonly name: string
  readonly bytes: number
}

const smallest: ByteUnit = { name: 'kB', bytes: 2 ** 10 }
const larger: readonly ByteUnit[] = [
  { name: 'GB', bytes: 2 ** 30 },
  { name: 'MB', bytes: 2 ** 20 },
]

export function byteSize(bytes: number): string {
  const unit = byteUnit(bytes)
  return `${inUnit(bytes, unit)} ${unit.name}`
}

export function byteUnit(bytes: number): ByteUnit {
  return larger.find((unit) => bytes >= unit.bytes * 10) ?? smallest
}

export function inUnit(bytes: number, unit: ByteUnit): number {
  return Math.ceil(bytes / unit.bytes)
}
