/** What the crash test and the process that it kills agree on. */
export interface LoadArgument {
  readonly file: string
  readonly journal: string
  /** Number of the run, which makes message names unique. */
  readonly run: number
}

/** Runs take turns between a standard and a FIFO queue; both emit into the same one. */
export const sources = ['source', 'source.fifo'] as const
export const emitTarget = 'next'

export function sourceOf(run: number): (typeof sources)[number] {
  return run % 2 === 0 ? sources[0] : sources[1]
}

/** Messages of one send, which are stored together or not at all. */
export const batchSize = 3

/** What a journal says, by the first word of its lines. */
export class Journal {
  readonly sending = new Set<string>()
  readonly sent = new Set<string>()
  readonly acknowledging = new Set<string>()
  readonly acknowledged = new Set<string>()

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [word, name] = line.split(' ')
      if (name === undefined) continue
      if (word === 'sending') this.sending.add(name)
      if (word === 'sent') this.sent.add(name)
      if (word === 'acknowledging') this.acknowledging.add(name)
      if (word === 'acknowledged') this.acknowledged.add(name)
    }
  }
}
