/**
 * Whether an IP address is one of the open internet. Everything that is set aside for networks of one's
 * own, for this machine, for its neighbours, for tests or for many receivers at once is not.
 */
type Block = readonly [base: string, bits: number]

/** Of IPv4, after IANA's registry of addresses for special purposes. */
const closedV4: readonly Block[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/** Of IPv6 everything beyond this block is set aside, but for what carries an IPv4 address. */
const openV6: Block = ['2000::', 3]

/** Parts of it that are not: protocol assignments with Teredo, documentation, 6to4. */
const closedV6: readonly Block[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

/** IPv4 in the clothes of IPv6: mapped, and through a translator. It is judged by what it carries. */
const carriers: readonly Block[] = [
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
]

export function isPublicAddress(address: string): boolean {
  const v4 = parseV4(address)
  if (v4 !== undefined) return isPublicV4(v4)
  const v6 = parseV6(address)
  if (v6 === undefined) return false
  if (carriers.some((block) => isInV6(v6, block))) return isPublicV4(Number(v6 & 0xffff_ffffn))
  return isInV6(v6, openV6) && !closedV6.some((block) => isInV6(v6, block))
}

function isPublicV4(address: number): boolean {
  return !closedV4.some(([base, bits]) => {
    const start = parseV4(base) ?? 0
    return address >= start && address < start + 2 ** (32 - bits)
  })
}

function isInV6(address: bigint, [base, bits]: Block): boolean {
  const shift = BigInt(128 - bits)
  return address >> shift === (parseV6(base) ?? 0n) >> shift
}

function parseV4(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number)
  if (parts === undefined || parts.some((part) => part > 255)) return undefined
  return parts.reduce((address, part) => address * 256 + part, 0)
}

/** Undefined also for an address with a zone, which is no address of the internet. */
function parseV6(text: string): bigint | undefined {
  const [head, tail, ...others] = text.split('::')
  if (head === undefined || others.length > 0) return undefined
  const front = wordsOf(head)
  const back = tail === undefined ? [] : wordsOf(tail)
  if (front === undefined || back === undefined) return undefined
  const missing = 8 - front.length - back.length
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined
  const words = [...front, ...Array.from({ length: missing }, () => 0), ...back]
  return words.reduce((address, word) => (address << 16n) | BigInt(word), 0n)
}

/** Groups of sixteen bits; the last two may be written as IPv4. */
function wordsOf(text: string): readonly number[] | undefined {
  if (text === '') return []
  const words: number[] = []
  const groups = text.split(':')
  for (const [index, group] of groups.entries()) {
    const v4 = index === groups.length - 1 ? parseV4(group) : undefined
    if (v4 !== undefined) words.push(Math.floor(v4 / 65_536), v4 % 65_536)
    else if (/^[0-9a-f]{1,4}$/i.test(group)) words.push(Number.parseInt(group, 16))
    else return undefined
  }
  return words
}
