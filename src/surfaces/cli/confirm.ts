/** Asks before anything is destroyed: the name has to be typed, or `--yes` given where nobody can type. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import type { Shell } from './shell.ts'
import { printable } from './table.ts'

export interface Confirmation {
  /** What will happen, as a sentence. */
  readonly question: string
  /** What has to be typed. */
  readonly name: string
  /** `--yes`. */
  readonly yes?: true | undefined
}

export async function confirm(
  { isInteractive, stdin }: Shell,
  { question, name, yes }: Confirmation,
): Promise<void> {
  if (yes) return
  if (!isInteractive) {
    throw new CommandFailure(exitCodes.notConfirmed, `${question} Say --yes to go on.`)
  }
  const typed = await ask(stdin, `${question} Type ${printable(name)} to go on: `)
  if (typed === name) return
  throw typed === interrupted
    ? new CommandFailure(exitCodes.interrupted, 'Nothing was done.')
    : new CommandFailure(exitCodes.notConfirmed, notTyped(typed))
}

function notTyped(typed: string | undefined): string {
  return typed === undefined ? 'Nothing was done.' : 'That is another name; nothing was done.'
}

const interrupted = Symbol('Ctrl-C')

/** The line that was typed; undefined when the input ends first, such as by Ctrl-D. */
function ask(input: Readable, question: string): Promise<string | typeof interrupted | undefined> {
  const lines = createInterface({ input, output: process.stderr })
  return new Promise((resolve) => {
    let end: string | typeof interrupted | undefined
    const close = (how: string | typeof interrupted): void => {
      end = how
      lines.close()
    }
    lines.once('SIGINT', () => close(interrupted))
    lines.question(question, close)
    lines.once('close', () => {
      // Without Enter the cursor is still behind the question.
      if (typeof end !== 'string') process.stderr.write('\n')
      resolve(end)
    })
  })
}
