/** The other process of a bench: it answers requests over the channel that `fork` opens. */
import { type ChildProcess, fork } from 'node:child_process'
import type { ChildRequest } from './child.ts'

export function startChild(): ChildProcess {
  return fork(new URL('./child.ts', import.meta.url), { stdio: 'inherit' })
}

let lastId = 0

export function ask<T>(child: ChildProcess, request: ChildRequest): Promise<T> {
  const id = ++lastId
  return new Promise<T>((resolve) => {
    const listener = (answer: { readonly id: number; readonly value: T }): void => {
      if (answer.id !== id) return
      child.off('message', listener)
      resolve(answer.value)
    }
    child.on('message', listener)
    child.send({ id, request })
  })
}
