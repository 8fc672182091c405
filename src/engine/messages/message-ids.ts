/**
 * The id that a message gets when it is sent: a UUID made of the store's random prefix and the
 * message's sequence number. It need not be stored, which makes rows an eighth shorter.
 */
export class MessageIds {
  readonly #prefix: string
  /** The digits of the current run of 65,536 numbers, which change seldom. */
  #run = -1
  #runText = ''

  /** @param digits 14 random hexadecimal digits, the same for the life of a store */
  constructor(digits: string) {
    const part = (from: number, to: number): string => digits.slice(from, to)
    // Version 8 of the UUID leaves the digits to the program; the 8 of the fourth group is fixed.
    this.#prefix = `${part(0, 8)}-${part(8, 12)}-8${part(12, 14)}0-8000`
  }

  /** The sequence number of an id that this store gave out, or undefined for any other. */
  sequenceOf(id: string): number | undefined {
    const digits = id.slice(this.#prefix.length + 1)
    if (!id.startsWith(`${this.#prefix}-`) || !/^[0-9a-f]{12}$/.test(digits)) return undefined
    return Number.parseInt(digits, 16)
  }

  of(sequence: number): string {
    const low = sequence % 65_536
    const run = (sequence - low) / 65_536
    if (run !== this.#run) {
      this.#run = run
      this.#runText = `${this.#prefix}-${run.toString(16).padStart(8, '0')}`
    }
    return `${this.#runText}${octets[low >> 8]}${octets[low & 255]}`
  }
}

const octets: readonly string[] = Array.from({ length: 256 }, (_, octet) =>
  octet.toString(16).padStart(2, '0'),
)
