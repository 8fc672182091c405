/** Asks before anything is destroyed: the name has to be typed, or `--yes` given where nobody can type. */
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
  const { isCancel, text } = await import('@clack/prompts')
  const typed = await text({
    message: `${question} Type ${printable(name)} to go on.`,
    input: stdin,
    output: process.stderr,
  })
  if (isCancel(typed)) throw new CommandFailure(exitCodes.interrupted, 'Nothing was done.')
  if (typed !== name) {
    throw new CommandFailure(exitCodes.notConfirmed, 'That is another name; nothing was done.')
  }
}
