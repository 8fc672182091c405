/** `startDev`: what a template declares, running in one process, and changing while it runs. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { startDev } from '../../../src/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { devScene, handler, template } from './dev-scene.ts'

describe('a running dev server', () => {
  test('gives messages of AWS clients to handlers, whose queue URLs are its own', async () => {
    const { dev, send, line } = await devScene()
    assert.equal(dev.plans[0]?.steps.length, 2)
    await send('orders', 'hello')
    const said = await line(/^output: first/)
    // Nothing of the user's shell reaches a function that did not ask for it.
    assert.equal(
      said.trimEnd(),
      `output: first hello ${dev.url}/000000000000/results us-east-1 undefined`,
    )
  })

  test('is in the region that was chosen', async () => {
    const { send, line } = await devScene(template(), { region: 'eu-west-1' })
    await send('orders', 'hello')
    assert.match(await line(/^output: first/), / eu-west-1 /)
  })

  test('takes over a handler that was changed', async () => {
    const { send, line, write } = await devScene()
    await send('orders', 'one')
    await line(/^output: first one/)
    await write('src/grade.mjs', handler('second'))
    // Which code meets a message is the runtime's choice until the change is seen.
    for (let at = 0; ; at += 1) {
      await send('orders', `more-${at}`)
      if ((await line(new RegExp(`more-${at} `))).includes('second')) break
    }
  })

  test('takes over a template that was changed, and new event sources with it', async () => {
    const { dev, send, line, told, write } = await devScene()
    await told(/^up /)
    await write('template.yaml', template().replaceAll('QueueName: orders', 'QueueName: renamed'))
    assert.match(await told(/^up /), / 2$/)
    assert.deepEqual(dev.plans[0]?.gone, ['orders'])
    await send('renamed', 'hello')
    await line(/^output: first hello/)
  })

  test('warns about a handler whose file is missing, and runs it once the file exists', async () => {
    const unfed = `
  Unfed:
    Type: AWS::Serverless::Function
    Properties: { Handler: nowhere.handler, Runtime: nodejs22.x, CodeUri: ./src }`
    const text = template(unfed).replace('grade.handler', 'later.handler')
    const { send, line, told, write } = await devScene(text)
    assert.equal(
      await told(/^warning/),
      "warning 5: grade cannot run: later{.js,.mjs,.cjs,.ts,.mts,.cts} of its handler 'later.handler' is not in src.",
    )
    assert.match(await told(/./), /^up /)
    await write('src/later.mjs', handler('later'))
    await send('orders', 'hello')
    await line(/^output: later hello/)
  })

  test('goes on as it was while a template is broken, and says where', async () => {
    const { dev, send, line, told, write } = await devScene()
    await write('template.yaml', template().replace('!GetAtt Orders.Arn', '!GetAtt Ordres.Arn'))
    assert.match(await told(/^error/), /^error 14: .*Ordres/)
    assert.equal(await dev.reload(), false)
    await send('orders', 'still')
    await line(/^output: first still/)
    await write('template.yaml', template())
    await told(/^up /)
    assert.equal(await dev.reload(), true)
  })

  test('leaves out functions of other runtimes, with a warning', async () => {
    const python = template().replace('nodejs22.x', 'python3.13')
    const { told, dev } = await devScene(python)
    assert.match(await told(/^warning/), /grade is not run: its runtime is python3\.13/)
    assert.equal(dev.plans[0]?.stack.eventSources.length, 1)
  })

  test('does not start with a template that has errors, and lets go of its port', async () => {
    const folder = await temporaryFolder('dev')
    onTestFinished(() => folder.remove())
    const problems: string[] = []
    const starting = startDev({
      templates: [folder.file('nowhere.yml')],
      data: folder.file('data'),
      port: 0,
      onProblems: (told) => problems.push(...told.map(({ message }) => message)),
    })
    await assert.rejects(starting, { code: 'invalid_contract' })
    assert.equal(problems.length, 1)
  })

  test('stops once, however often it is asked', async () => {
    const { dev } = await devScene()
    assert.equal(dev.stop(), dev.stop())
    await dev.stop()
    await assert.rejects(fetch(`${dev.url}/healthz`))
    assert.equal(await dev.reload(), false)
  })
})
