/** Names and phrases that were private metaphors, and what is used in their place. One word for each idea. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { readRepositoryFile, repositoryFiles, sourceFiles } from './repository-files.ts'

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

/** Each pattern is matched against a sentence without its code; beside it, what to write instead. */
const retiredPhrases: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\b(?:some|no)body\b|\bwhoever\b|\bwho has to hear\b/, 'the process, worker, client or person'],
  [/\b(?:is|are|was|were|be) told\b|\bhears? of\b/, 'is called with, is notified of, reports'],
  [/\banswers? (?:with|nothing|what|`)|\| answers? \|/, 'returns'],
  [
    /\bcomes? (?:again|back)\b|\bcame back\b/,
    'is retried, is delivered again, becomes ready again',
  ],
  [/\bcomes? to exist\b/, 'is created'],
  [/\brings?\b|\brang\b|\bringing\b|\bbells?\b/, 'fires, notifies; wake file'],
  [/\bknock|\bcourtesy\b/, 'requests a turn; lock fairness'],
  [/\blanes?\b/, 'bucket of blocked messages'],
  [/\bin hand\b|\bin the hands? of\b/, 'running, in flight'],
  [/\bdesks?\b|\btopology\b|\bways? in\b(?! which)/, 'client, control; resolved queues; surface'],
  [
    /\bowes?\b|\bowed\b|\bstands? for\b|\bstands? in the (?:file|store)\b/,
    'is pending; means; is in',
  ],
  [/\bovertak|\bentomb|\bunearth/, 'passes; inserts or removes a tombstone'],
  [/\bbury\b|\bburies\b|\bburied\b|\bburial\b/, 'dead-letter'],
  [
    /\bfares?\b|\bfared\b|\bof what they died\b|\bwhere (?:it|they) died\b/,
    'metrics; why it failed',
  ],
  [/\bupkeep\b|\bcatch(?:es)? up\b|\bkeeps? up\b/, 'maintenance, sweep'],
  [
    /\bg[ia]ves? (?:it |them )?back\b|\bgiven back\b|\bhand(?:s|ed)? (?:\w+ )?back\b/,
    'release, return',
  ],
  [/\bgives? up\b|\bgiven up\b|\b(?:is|are|be) let go\b|\blets go\b/, 'abandons; is released'],
  [/\bgo(?:es)? on\b(?! (?:the|a|this|that)\b)|\bwent on\b/, 'continues'],
  [/\bgoes by\b|\bgo by (?:the|its|their)\b/, 'uses, is named'],
  [/\bno such\b|\bor no more\b|\bthat is no job\b/, 'does not exist, was removed; not a job'],
  [/\bin so many words\b/, 'explicitly'],
  [/\bmust bear\b|\bbears? a repetition\b/, 'must be idempotent'],
  [/\bwhat you got an answer for\b/, 'if the call returned, it is on disk'],
]

/** The same for pages only. */
const retiredOnPages: typeof retiredPhrases = [
  [/[,;] also\b/, 'even, including, too'],
  [/\bwhatever (?:its|their) end\b/, 'however it ended'],
  [/\bgoes? up\b/, 'is deployed'],
]

const pages = repositoryFiles.filter((file) =>
  /^(?:README|CONTRIBUTING|CHANGELOG|ARCHITECTURE)\.md$|^docs\/.*\.md$|^examples\/.*README\.md$/.test(
    file,
  ),
)

/** The prose of a page, one paragraph or table row to a line. Code and generated parts are left out. */
function paragraphsOf(page: string): readonly string[] {
  return page
    .replaceAll(/^<!-- (\w+):begin -->$[\s\S]*?^<!-- \1:end -->$/gm, '')
    .replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
    .replaceAll(/\n *(?![\s|#]|[-*] |\d+\. )/g, ' ')
    .replaceAll(/`[^`]*`/g, '``')
    .split('\n')
}

function retiredIn(text: string, phrases = retiredPhrases): readonly string[] {
  return paragraphsOf(text).flatMap((paragraph) =>
    phrases.flatMap(([phrase, instead]) => {
      const [found] = phrase.exec(paragraph.toLowerCase()) ?? []
      return found === undefined ? [] : [`"${found}" (${instead}) in: ${paragraph.trim()}`]
    }),
  )
}

/** The comments of a source file, one to a paragraph, and its strings of several words. */
function proseOf(source: string): string {
  const comments = source.match(/\/\*[\s\S]*?\*\/|^ *\/\/.*(?:\n *\/\/.*)*/gm) ?? []
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|^ *\/\/.*$/gm, '')
  const strings = code.match(/'[^'\n]*'|"[^"\n]*"|`[^`]*`/g) ?? []
  return [
    ...comments.map((comment) => comment.replaceAll(/\s*\n *(?:\*|\/\/)? ?/g, ' ')),
    // Without their quotes: text between backticks counts as code.
    ...strings
      .filter((text) => text.includes(' '))
      .map((text) => text.slice(1, -1).replaceAll(/\s+/g, ' ')),
  ].join('\n\n')
}

describe('the comments and strings of the source', () => {
  test('use customary words', () => {
    const offenders = files
      .filter((file) => file.startsWith('src/'))
      .flatMap((file) =>
        retiredIn(proseOf(readRepositoryFile(file))).map((line) => `${file}: ${line}`),
      )
    assert.deepEqual(offenders, [])
  })

  test.each([
    '/** Told of each request. Default: nobody. */',
    '/**\n * The message comes\n * again.\n */',
    '  // Whoever waits\n  // is woken.',
    "const message = 'There is no such flow.'",
    'const message = `the unit was given up`',
  ])('would be refused in: %j', (source) =>
    assert.equal(retiredIn(proseOf(source)).length > 0, true),
  )

  test.each([
    "const state = 'given_up', fate = 'dead_lettered'",
    '/** See `comesAgain`. */',
    "run('wait', () => giveUp())",
    'nobody()',
  ])('are not refused in: %j', (source) => assert.deepEqual(retiredIn(proseOf(source)), []))
})

describe('the prose of the pages', () => {
  test('uses customary words', () => {
    const phrases = [...retiredPhrases, ...retiredOnPages]
    const offenders = pages.flatMap((file) =>
      retiredIn(readRepositoryFile(file), phrases).map((line) => `${file}: ${line}`),
    )
    assert.deepEqual(offenders, [])
  })

  test.each([
    'The handler is told of the end.',
    'Whoever waits is woken.',
    'After the pause the message comes\nagain.',
    '| Call | Answers |',
    'With `--json`, `list` answers `queues`.',
    'An alarm rings.',
  ])('would be refused in: %s', (text) => assert.equal(retiredIn(text).length > 0, true))

  test.each(['`bury` is now `deadLetter`.', '```\nno such queue\n```', 'It returns null.'])(
    'is not refused in: %s',
    (text) => assert.deepEqual(retiredIn(text), []),
  )
})
