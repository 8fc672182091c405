import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { openLambdaScene } from './lambda-scene.ts'

describe('the log of a function', () => {
  test('has START, what it writes, END and REPORT, each with the request id', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one')
    await scene.run(scene.set({}))
    const told = await scene.began()
    const { requestId } = told
    await scene.ports.clock.advance(1_500)
    scene.order(told, { write: ['first', 'second'] })
    await scene.ended()
    const memory = /Max Memory Used: (\d+) MB/.exec(scene.texts('report')[0] ?? '')?.[1]
    assert.ok(Number(memory) > 0)
    assert.deepEqual(
      scene.lines.map(({ kind, text }) => [kind, text]),
      [
        ['start', `START RequestId: ${requestId} Version: $LATEST`],
        ['output', 'first'],
        ['output', 'second'],
        ['end', `END RequestId: ${requestId}`],
        [
          'report',
          `REPORT RequestId: ${requestId}\tDuration: 1500.00 ms\tBilled Duration: 1500 ms\tMemory Size: 128 MB\tMax Memory Used: ${memory} MB\tInit Duration: 0.00 ms`,
        ],
      ],
    )
    for (const line of scene.lines) {
      assert.deepEqual([line.function, line.requestId], ['puppet', requestId])
    }
  })

  test('has no init duration for a warm start', async () => {
    const scene = await openLambdaScene()
    await scene.oncePuppet()
    await scene.send('two')
    scene.order(await scene.began(1))
    await scene.ended(1)
    assert.deepEqual(
      scene.texts('report').map((text) => text.includes('Init Duration')),
      [true, false],
    )
  })

  test('has the level of each line, and what is written while the module is loaded', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one')
    const { folder } = await scene.code(
      'index.mjs',
      `console.info('loading %d', 1)
       export const handler = async () => {
         console.debug('fine'); console.log({ a: 1 }); console.warn('hm'); console.error('no')
         process.stdout.write('raw\\n'); process.stderr.write(Buffer.from('raw error'))
         console.table([1])
       }`,
    )
    await scene.run(scene.set({ folder, handler: 'index.handler' }))
    await scene.ended()
    const output = scene.lines.filter(({ kind }) => kind === 'output')
    assert.deepEqual(
      output.slice(0, 7).map(({ level, text, requestId }) => [level, text, requestId !== null]),
      [
        ['info', 'loading 1', false],
        ['debug', 'fine', true],
        ['info', '{ a: 1 }', true],
        ['warn', 'hm', true],
        ['error', 'no', true],
        ['info', 'raw', true],
        ['error', 'raw error', true],
      ],
    )
    assert.match(output[7]?.text ?? '', /\(index\)/)
  })

  test('has the type, the message and the stack of an error', async () => {
    const scene = await openLambdaScene()
    await scene.oncePuppet({ error: 'no such table' })
    const [title, json = ''] = (scene.texts('error')[0] ?? '').split('\t')
    const error = JSON.parse(json)
    assert.equal(title, 'Invoke Error')
    assert.equal(error.errorType, 'TypeError')
    assert.equal(error.errorMessage, 'no such table')
    assert.match(error.stack[1], /puppet\.ts:\d+/)
    assert.match(scene.texts('report')[0] ?? '', /Status: error$/)
  })

  test('quotes no message, and neither does the log of the runtime', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('a secret body')
    await scene.run(scene.set({}))
    scene.order(await scene.began(), { error: 'no' })
    await scene.ended()
    assert.doesNotMatch(JSON.stringify([scene.lines, scene.log]), /secret body/)
    assert.deepEqual(
      scene.log.map(({ level, message, fields }) => [level, message, fields['outcome']]),
      [['warn', 'function failed', 'failed']],
    )
  })

  test('goes to the logger of the runtime when nobody asked for its lines', async () => {
    const scene = await openLambdaScene({ isSilent: true })
    const { requestId } = await scene.oncePuppet({ write: ['hello'] })
    const [, hello] = scene.log
    assert.deepEqual(
      scene.log.map(({ message }) => message.split(' ')[0]),
      ['START', 'hello', 'END', 'REPORT', 'function'],
    )
    assert.deepEqual(hello, {
      level: 'info',
      message: 'hello',
      fields: { function: 'puppet', kind: 'output', request_id: requestId },
    })
  })
})
