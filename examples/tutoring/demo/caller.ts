/** Calls the API like a front end, and waits for the results of the queues. */
import { untilMatching } from '../../shared/until.ts'

/** The fields of API responses that the demo reads. */
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

  /** Polls until the response matches. */
  until(path: string, holds: (answer: Answer) => boolean): Promise<Answer> {
    return untilMatching(() => this.get(path), holds, `${path} has the expected response`)
  }

  async #ask(path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(this.#url + path, init)
    // The API is our own. The demo reads only the fields above.
    return (await response.json()) as Answer
  }
}
