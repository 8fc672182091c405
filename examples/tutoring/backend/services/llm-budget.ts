/**
 * Reports the tokens of model calls. The app declares the budget and the store counts it, so all functions share
 * one budget. The call that reaches the limit turns on LLM_PAUSED for all.
 */
import { open } from 'millrace'
import { tutoring } from '../app.ts'

export interface TokenMeter {
  spend(tokens: number): Promise<void>
  close(): Promise<void>
}

/** On AWS there is no such store. There, set the variable LLM_PAUSED by hand. */
const unmetered: TokenMeter = {
  spend: async () => undefined,
  close: async () => undefined,
}

/** `store` is the folder or the URL that the server was started with. */
export async function openTokenMeter(store: string | undefined): Promise<TokenMeter> {
  if (store === undefined) return unmetered
  // The server already runs alarms and maintenance.
  const mill = await open(tutoring, { store, onNotice: () => undefined })
  return {
    async spend(tokens) {
      const { turnedOn, spent, limit } = await mill.budgets.spend('llm', tokens)
      if (turnedOn) console.warn(`${spent} of ${limit} tokens are spent: LLM_PAUSED is on`)
    },
    close: () => mill.close(),
  }
}
