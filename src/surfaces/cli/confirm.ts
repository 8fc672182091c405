/** Asks for confirmation: the user types the name, or passes `--yes` where there is no terminal. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import type { Shell } from './shell.ts'
import { printable } from './table.ts'

export interface Confirmation {
  /** A sentence that describes what will happen. */
  readonly question: string
  /** The user must type this. */
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
    throw new CommandFailure(
      exitCodes.notConfirmed,
      `${question} To confirm without a terminal, add --yes.`,
    )
  }
  const typed = await ask(stdin, `${question} Type ${printable(name)} to continue: `)
  if (typed === name) return
  throw typed === interrupted
    ? new CommandFailure(exitCodes.interrupted, 'Nothing was done.')
    : new CommandFailure(exitCodes.notConfirmed, notTyped(typed))
}

function notTyped(typed: string | undefined): string {
  return typed === undefined ? 'Nothing was done.' : 'The name does not match; nothing was done.'
}

const interrupted = Symbol('Ctrl-C')

/** Resolves with the typed line, or undefined when the input ends first (Ctrl-D). */
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
      // Without Enter, the cursor is still on the line of the question.
      if (typeof end !== 'string') process.stderr.write('\n')
      resolve(end)
    })
  })
}
