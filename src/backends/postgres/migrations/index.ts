import { messages } from './0001-messages.ts'
import { rules } from './0002-rules.ts'
import { carriers } from './0003-carriers.ts'

/** Applied in order; the schema's version is the number of those applied. Never edit a released one. */
export const migrations: readonly string[] = [messages, rules, carriers]
