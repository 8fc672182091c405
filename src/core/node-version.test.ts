import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'vitest'
import { nodeVersionProblem } from './node-version.ts'

describe('the version of Node', () => {
  test.each(['22.18.0', '22.21.1', '24.0.0', '26.1.0'])('%s is new enough', (node) => {
    assert.equal(nodeVersionProblem({ node }), undefined)
  })

  test.each(['22.17.9', '22.4.0', '20.20.2', '18.0.0'])(
    '%s is too old, and both versions are named',
    (node) => {
      const problem = nodeVersionProblem({ node }) ?? ''
      assert.ok(problem.includes('Node 22.18 or newer'), problem)
      assert.ok(problem.includes(`this is Node ${node}`), problem)
    },
  )

  test('that another runtime states is not looked at', () => {
    assert.equal(nodeVersionProblem({ node: '20.11.1', deno: '2.0.0' }), undefined)
    assert.equal(nodeVersionProblem({ node: '20.11.1', bun: '1.2.0' }), undefined)
  })

  test('is the one that the package asks for', () => {
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
    assert.equal(JSON.parse(manifest).engines.node, '>=22.18')
  })
})
