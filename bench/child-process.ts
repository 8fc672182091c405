/** The second process of a benchmark. It handles requests over the channel that `fork` opens. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

export interface Request {
  readonly kind: string
}

export class BenchChild<Asked extends Request> {
  readonly #child: ChildProcess
  #lastId = 0

  constructor(file: URL, ...options: readonly string[]) {
    this.#child = fork(file, options, { stdio: 'inherit' })
    this.#child.once('exit', (code) => {
      // Throw even if no request is pending; otherwise the benchmark would wait forever.
      if (code !== 0) throw new Error('The second process of the benchmark failed.')
    })
  }

  ask<T>(request: Asked): Promise<T> {
    const id = ++this.#lastId
    return new Promise<T>((resolve, reject) => {
      const failed = (): void => reject(new Error('The second process of the benchmark has ended.'))
      const listener = (answer: { readonly id: number; readonly value: T }): void => {
        if (answer.id !== id) return
        this.#child.off('message', listener)
        this.#child.off('exit', failed)
        resolve(answer.value)
      }
      this.#child.on('message', listener)
      this.#child.on('exit', failed)
      this.#child.send({ id, request })
    })
  }

  async end(): Promise<void> {
    const exit = once(this.#child, 'exit')
    this.#child.disconnect()
    await exit
  }
}

/** In the second process: handles requests in the order of arrival. */
export function answerRequests<Asked extends Request>(
  answer: (request: Asked) => Promise<unknown>,
): void {
  process.on('message', async ({ id, request }: { id: number; request: Asked }) => {
    process.send?.({ id, value: await answer(request) })
  })
  process.on('disconnect', () => process.exit(0))
}
