/** The pages about the command line and the HTTP API name every command and every field that exists. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { JobRecord } from '../../src/backends/job-store.ts'
import { flowView, unitView } from '../../src/operations/flow-view.ts'
import {
  attemptView,
  jobInsideView,
  jobStateView,
  logLineView,
} from '../../src/operations/job-view.ts'
import { cliScene } from '../surfaces/cli/cli-scene.ts'
import { readRepositoryFile } from './repository-files.ts'

/** The part of a page below a heading, up to the next one of the same rank. */
function section(file: string, heading: string): string {
  const [, after = ''] = readRepositoryFile(file).split(`\n## ${heading}\n`)
  const [part = ''] = after.split('\n## ')
  assert.notEqual(part, '', `${file} has no section '${heading}'`)
  return part
}

function missingIn(text: string, names: readonly string[]): readonly string[] {
  return names.filter((name) => !text.includes(`\`${name}\``))
}

describe('the page about the command line', () => {
  test('has every command', async () => {
    const { good } = await cliScene()
    const wordsAfter = async (...words: readonly string[]): Promise<readonly string[]> =>
      (await good('__complete', ...words, '')).split('\n').filter((word) => /^[a-z]/.test(word))
    const page = readRepositoryFile('docs/cli.md')
    const names = await wordsAfter()
    assert.ok(names.includes('rekey') && names.includes('job'))
    const groups = names.filter((name) => name !== 'help' && name !== 'completion')
    for (const name of groups) {
      assert.match(page, new RegExp(`\`(?:millrace )?${name}[ \`]`), `millrace ${name}`)
      for (const verb of await wordsAfter(name)) {
        if (verb === 'help') continue
        assert.match(page, new RegExp(`\`${name} ${verb}[ \`]`), `millrace ${name} ${verb}`)
      }
    }
  })

  test('has every field of a flow, a unit, an attempt and a log line', () => {
    // Only the names of the fields matter.
    const record = { units: {} } as never
    const flows = section('docs/cli.md', 'flow')
    assert.deepEqual(missingIn(flows, Object.keys(flowView(times(record)))), [])
    assert.deepEqual(missingIn(flows, Object.keys(unitView(times(record)))), [])
    const jobs = section('docs/cli.md', 'job')
    assert.deepEqual(missingIn(jobs, Object.keys(attemptView(times(record)))), [])
    assert.deepEqual(missingIn(jobs, Object.keys(logLineView(times(record)))), [])
  })
})

describe('the page about the HTTP API', () => {
  test('has every field of a job', () => {
    const record: JobRecord = times({} as never)
    const fields = Object.keys({ ...jobStateView(record), ...jobInsideView(record) })
    assert.deepEqual(missingIn(section('docs/http-api.md', 'A job'), fields), [])
  })
})

/** A record whose times are valid, whatever they are called. */
function times<Shown extends object>(record: Shown): Shown {
  return new Proxy(record, {
    get: (target, name) =>
      Reflect.get(target, name) ?? (/(?:At|^at)$/.test(String(name)) ? 0 : null),
  })
}
