/** Names that were private metaphors, and what is used in their place. One word for each idea. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { readRepositoryFile, sourceFiles } from './repository-files.ts'

const retired: Readonly<Record<string, string>> = {
  courtesy: 'LockFairness',
  knock: 'requestTurn',
  nobodysToken: 'unleasedToken',
  overtake: 'applyElapsedTime',
  comeBack: 'returnToReady',
  entomb: 'insertTombstone',
  unearth: 'removeTombstone',
  standsFor: 'parentUnit',
  isPatient: 'isLongPoll',
  hasCompanyFor: 'hasWaiterFor',
  lookEverywhere: 'recheckAll',
  desk: 'LeaseClient, Flows, Budgets, AlarmControl',
  voiceOf: 'outputOf',
  waysIn: 'surfaces',
  drafter: 'Emitter',
  topology: 'resolved queues, or the cache of queues',
  lively: 'ready',
  handoffs: 'inboxes',
}

/** Words inside of names count too: `openDesk` holds `desk`. */
const words = new RegExp(
  Object.keys(retired)
    .map((word) => `(?<![a-z])${word[0]}${word.slice(1)}(?![a-z])|${capital(word)}(?![a-z])`)
    .join('|'),
)

function capital(word: string): string {
  return `${word[0]?.toUpperCase()}${word.slice(1)}`
}

/** Released migrations stay as they are, and tests may name a queue as they like. */
const files = sourceFiles.filter(
  (file) => !file.includes('/migrations/') && !file.endsWith('.test.ts'),
)

describe('the names in the code', () => {
  test('are not those that were retired', () => {
    const offenders = files.flatMap((file) =>
      readRepositoryFile(file)
        .split('\n')
        .flatMap((line, index) => {
          const [found] = words.exec(line) ?? []
          return found === undefined ? [] : [`${file}:${index + 1}: ${found}`]
        }),
    )
    assert.deepEqual(offenders, [])
  })

  test.each(['const knock = 1', 'openDesk()', 'class Courtesy {', 'readonly handoffs: null'])(
    'would be refused in: %s',
    (line) => assert.match(line, words),
  )
})
