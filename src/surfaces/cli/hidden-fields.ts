/** Fields that the contract of a queue marks as secret or personal. They are masked without `--reveal`. */
import type { Command } from 'commander'
import type { Backend } from '../../backends/backend.ts'

export interface RevealFlags {
  readonly reveal?: true
}

export function addReveal(command: Command): Command {
  return command.option('--reveal', 'also show secret and personal fields')
}

/** The paths to mask in messages of a queue. */
export async function hiddenIn(
  backend: Pick<Backend, 'readQueue'>,
  queue: string,
  { reveal }: RevealFlags,
): Promise<readonly string[]> {
  return reveal ? [] : (await backend.readQueue({ queue })).settings.hidden
}
