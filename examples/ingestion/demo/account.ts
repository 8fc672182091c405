/** Adds a knowledge base to an organisation and prints a token for it: `account.ts acme handbook`. */
import { Callers } from '../callers.ts'
import { readEnvironment } from '../environment.ts'
import { keyFor, openIngestion } from '../open-ingestion.ts'

const [organizationId, kbId] = process.argv.slice(2)
if (organizationId === undefined || kbId === undefined) {
  console.error('Usage: account.ts <organisation> <knowledge base>')
  process.exit(2)
}
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
await using ingestion = await openIngestion(readEnvironment(), silent)
await ingestion.library.addKnowledgeBase({ id: kbId, organizationId })
const callers = new Callers(keyFor(ingestion.environment, 'tokens'))
console.log(await callers.issue({ userId: 'demo-user', organizationId }))
