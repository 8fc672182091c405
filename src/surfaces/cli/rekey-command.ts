/** `millrace rekey`: seals all content of a store with the first key, so that the others can be thrown away. */
import type { Command } from 'commander'
import { rekey } from '../../operations/rekey.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import type { Shell } from './shell.ts'
import { type Call, inStore, run, type StoreFlags, storeCommand } from './store-command.ts'

/** Equal payloads are recognised by a digest with the key of their time. */
const keepIt = 'Keep it for as long as idempotency keys of before count: a day by default.'

export function rekeyCommand(parent: Command, shell: Shell): void {
  const command = storeCommand(parent, {
    usage: 'rekey',
    description: 'Seal all content with the first key of MILLRACE_ENCRYPTION_KEYS.',
    examples: ['rekey', 'rekey --json'],
  })
  run(shell, command, sealAgain)
}

async function sealAgain(call: Call<StoreFlags>): Promise<void> {
  const { flags, output, shell } = call
  const stopping = new AbortController()
  const forget = shell.onStop(() => stopping.abort())
  try {
    const report = await inStore(call, ({ backend }) => {
      if (backend.keys?.sealing == null) {
        const message = 'There is no key to seal with. Set MILLRACE_ENCRYPTION_KEYS.'
        throw new CommandFailure(exitCodes.usage, message)
      }
      return rekey(backend, { signal: stopping.signal })
    })
    if (flags.json) return output.json(report)
    const { sealed, key, removed } = report
    output.line(`Sealed ${sealed} texts with the key '${key}'.`)
    for (const id of removed) output.line(`The key '${id}' seals nothing any more. ${keepIt}`)
  } catch (error) {
    if (!stopping.signal.aborted) throw error
    const message = 'Interrupted. Run the command again to seal the rest.'
    throw new CommandFailure(exitCodes.interrupted, message)
  } finally {
    forget()
  }
}
