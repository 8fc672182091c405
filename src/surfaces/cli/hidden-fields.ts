/** What the contract of a queue calls secret or personal: masked, unless the user asks to see it. */
import type { Command } from 'commander'
import type { Backend } from '../../backends/backend.ts'

export interface RevealFlags {
  readonly reveal?: true
}

export function addReveal(command: Command): Command {
  return command.option('--reveal', 'show secret and personal fields too')
}

/** The paths to mask in what is shown of a queue. */
export async function hiddenIn(
  backend: Pick<Backend, 'readQueue'>,
  queue: string,
  { reveal }: RevealFlags,
): Promise<readonly string[]> {
  return reveal ? [] : (await backend.readQueue({ queue })).settings.hidden
}
