/** Calls the API as a front end does, and waits for what the queues bring about. */
import { untilWanted } from '../../shared/until.ts'

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
  until(path: string, holds: (answer: Answer) => boolean): Promise<Answer> {
    return untilWanted(() => this.get(path), holds, `${path} is as wanted`)
  }

  async #ask(path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(this.#url + path, init)
    // The API is the example's own; what it lacks, the story does not read.
    return (await response.json()) as Answer
  }
}
