/**
 * Reports what the model has cost. The budget is declared in the app and counted in the store of Millrace, so
 * all functions spend from one budget, and the answer that reaches its limit turns LLM_PAUSED on for all.
 */
import { open } from 'millrace'
import { tutoring } from '../app.ts'

export interface TokenMeter {
  spend(tokens: number): Promise<void>
  close(): Promise<void>
}

/** On AWS there is no such store. There a bill, and the variable LLM_PAUSED, do what the budget does here. */
const unmetered: TokenMeter = {
  spend: async () => undefined,
  close: async () => undefined,
}

/** The folder of the store is the one that the server was started with. */
export async function openTokenMeter(storeFolder: string | undefined): Promise<TokenMeter> {
  if (storeFolder === undefined) return unmetered
  // The server beside it sees to alarms and upkeep, and tells of them.
  const mill = await open(tutoring, { data: storeFolder, onNotice: () => undefined })
  return {
    async spend(tokens) {
      const { tripped, spent, limit } = await mill.budgets.spend('llm', tokens)
      if (tripped) console.warn(`${spent} of ${limit} tokens are spent: LLM_PAUSED is on`)
    },
    close: () => mill.close(),
  }
}
