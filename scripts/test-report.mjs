/**
 * Reads the JSON report of Vitest: the counts, and lines about each test that failed or was flaky. Plain
 * JavaScript for Node 20, like the script that uses it.
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** Enough for the message, which of random tests begins with the seed, and the place of the failure. */
const errorLinesMax = 8
const lineLengthMax = 300

export function readReport(file, root) {
  try {
    const result = JSON.parse(readFileSync(file, 'utf8'))
    const files = result.testResults.map((each) => ({ ...each, name: relative(root, each.name) }))
    const broken = files.filter(isBroken)
    return {
      passed: result.numPassedTests,
      failed: result.numFailedTests + broken.length,
      skipped: result.numPendingTests + result.numTodoTests,
      lines: [...broken.flatMap(aboutFile), ...aboutTests(files)],
    }
  } catch {
    return { passed: 0, failed: 0, skipped: 0, lines: [] }
  }
}

/** A file that cannot be loaded, or whose hooks fail, has no failed test to count. */
function isBroken({ status, assertionResults }) {
  return status === 'failed' && !assertionResults.some((test) => test.status === 'failed')
}

function aboutFile({ name, message }) {
  return [`FAILED ${name}`, ...firstLines(message || 'A hook failed. See its error above.')]
}

function aboutTests(files) {
  const lines = { failed: [], flaky: [] }
  for (const { name, assertionResults } of files) {
    for (const { status, ancestorTitles, title, failureMessages } of assertionResults) {
      const [first] = failureMessages
      // A test that passed has errors only if it was tried again.
      const kind = status === 'failed' ? 'failed' : first === undefined ? undefined : 'flaky'
      if (kind === undefined) continue
      const test = [...ancestorTitles, title].filter((part) => part !== '').join(' > ')
      lines[kind].push(`${kind.toUpperCase()} ${name}: ${test}`, ...firstLines(first ?? ''))
    }
  }
  return [...lines.failed, ...lines.flaky]
}

const ofVitest = /^ +at (?:.*node_modules\/vitest|new Promise \(<anonymous>\))/

function firstLines(error) {
  const lines = error.split('\n').filter((line) => !ofVitest.test(line))
  return lines.slice(0, errorLinesMax).map((line) => `    ${line.slice(0, lineLengthMax)}`)
}
