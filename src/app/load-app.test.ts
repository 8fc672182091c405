import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import { loadApp, loadAppAtStage, type StageOptions } from './load-app.ts'

async function moduleWith(code: string): Promise<string> {
  const folder = await temporaryFolder('load-app')
  onTestFinished(() => folder.remove())
  const file = folder.file('academy.mjs')
  await writeFile(file, code)
  return file
}

const load = async (code: string, settings: StageOptions = { environment: {} }) =>
  loadApp(await moduleWith(code), settings)

describe('a module that exports a function', () => {
  test.each([
    ['as its default', 'export default () => ({ name: "academy", queues: {} })'],
    ['by a name', 'export function academy() { return { name: "academy", queues: {} } }'],
    ['that is async', 'export default async () => ({ name: "academy", queues: {} })'],
    [
      'as its default, beside other functions',
      'export function helper() { throw new Error("no") }\n' +
        'export default () => ({ name: "academy", queues: {} })',
    ],
  ])('%s gives the app that it returns', async (_, code) => {
    assert.equal((await load(code)).name, 'academy')
  })

  const echo = 'export default (settings) => ({ name: JSON.stringify(settings), queues: {} })'

  test('is called with the stage and the environment', async () => {
    const { name } = await load(echo, { stage: 'prod', environment: { REGION: 'eu' } })
    assert.deepEqual(JSON.parse(name), { stage: 'prod', environment: { REGION: 'eu' } })
  })

  test('is called with the stage of MILLRACE_STAGE, or without one', async () => {
    const { name } = await load(echo, { environment: { MILLRACE_STAGE: 'test' } })
    assert.equal(JSON.parse(name).stage, 'test')
    assert.equal('stage' in JSON.parse((await load(echo, { environment: {} })).name), false)
  })

  test('cannot change the environment of the process', async () => {
    const environment = { REGION: 'eu' }
    const change = 'settings.environment.REGION = "us"'
    await load(`export default (settings) => { ${change}; return { name: "a", queues: {} } }`, {
      environment,
    })
    assert.deepEqual(environment, { REGION: 'eu' })
  })

  test('may leave the stage to the app', async () => {
    const file = await moduleWith(
      'export default () => ({ name: "academy", stage: "beta", queues: {} })',
    )
    assert.equal((await loadAppAtStage(file, { environment: {} })).stage, 'beta')
    const options = { stage: 'prod', environment: {} }
    assert.equal((await loadAppAtStage(file, options)).stage, 'prod')
  })

  test('is left alone when the module exports an app', async () => {
    const app = await load(
      'export const app = { name: "academy", queues: {} }\n' +
        'export function helper() { throw new Error("no") }',
    )
    assert.equal(app.name, 'academy')
  })
})

describe('a function that gives no app', () => {
  test.each([
    [
      'throws',
      'export function academy() { throw new Error("REGION is missing\\nand more") }',
      /^The function 'academy' of .*academy\.mjs failed: REGION is missing$/,
    ],
    [
      'rejects',
      'export default async () => { throw new Error("no network") }',
      /^The function 'default' of .*academy\.mjs failed: no network$/,
    ],
    [
      'returns something else',
      'export default () => ({ queues: {} })',
      /^The function 'default' of .*academy\.mjs must return an app made with defineApp\.$/,
    ],
  ])('is named with its module when it %s', async (_, code, message) => {
    await assert.rejects(load(code), { code: 'invalid_contract', message })
  })

  test('is not chosen among several', async () => {
    const code = 'export const one = () => 1\nexport const two = () => 2'
    await assert.rejects(load(code), {
      code: 'invalid_contract',
      message:
        /must export one app made with defineApp, or one function that returns it, .*; it has none, and 2 functions\.$/,
    })
  })
})
