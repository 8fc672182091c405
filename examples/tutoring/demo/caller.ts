/** Calls the API as a front end does, and waits for what the queues bring about. */
import { setTimeout as pause } from 'node:timers/promises'

/** What the API answers, as far as the story looks at it. */
export interface Answer {
  readonly [field: string]: unknown
  readonly id: string
  readonly status: string
  readonly errorCode: string | null
  readonly classifierSource: string
  readonly inputMode: string
  readonly isCorrect: boolean
  readonly latexSteps: readonly string[]
  readonly alignmentSummary: { readonly path: string; readonly score_0_1: number } | null
  readonly telemetry: readonly Pick<Answer, 'classifierSource' | 'errorTagId'>[]
  readonly questions: readonly Question[]
  readonly attempt: Answer | null
  readonly items: readonly { readonly statement: string; readonly targetErrorCode: string }[]
  readonly error: string
  readonly issues: readonly { readonly path: string; readonly message: string }[]
}

interface Question {
  readonly id: string
  readonly statement: string
  readonly solutions: readonly {
    readonly version: number
    readonly latexSteps: readonly string[]
  }[]
}

const lookAgainMs = 100
const patienceMs = 30_000

export class Caller {
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  get(path: string): Promise<Answer> {
    return this.#ask(path)
  }

  post(path: string, body: object = {}): Promise<Answer> {
    return this.#ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  }

  /** Looks until it is so. */
  async until(path: string, holds: (answer: Answer) => boolean): Promise<Answer> {
    const end = performance.now() + patienceMs
    for (;;) {
      const answer = await this.get(path)
      if (holds(answer)) return answer
      if (performance.now() > end) throw new Error(`Waited in vain at ${path}`)
      await pause(lookAgainMs)
    }
  }

  async #ask(path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(this.#url + path, init)
    // The API is the example's own; what it lacks, the story does not read.
    return (await response.json()) as Answer
  }
}
