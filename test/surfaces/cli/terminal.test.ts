/** What commands do when a person sits at a terminal. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { startOnTerminal, type TerminalProcess } from '../../support/terminal-process.ts'
import { type CliScene, cliScene } from './cli-scene.ts'

function onTerminal(args: readonly string[], env: Record<string, string> = {}): TerminalProcess {
  const terminal = startOnTerminal(args, env)
  onTestFinished(() => terminal.end())
  return terminal
}

async function withOrders(): Promise<CliScene> {
  const scene = await cliScene()
  await scene.good('queue', 'create', 'orders')
  await scene.good('message', 'send', 'orders', 'one')
  return scene
}

async function visible({ read }: CliScene): Promise<number> {
  return (await read('queue', 'show', 'orders')).visible
}

function isCursorShown(raw: string): boolean {
  return raw.lastIndexOf('\u001B[?25h') >= raw.lastIndexOf('\u001B[?25l')
}

describe('a purge on a terminal', () => {
  test('happens when the name of the queue is typed', async () => {
    const scene = await withOrders()
    const purge = onTerminal(['queue', 'purge', 'orders', '--data', scene.data])
    await purge.shows(/1 message\. Type orders to continue/)
    purge.type('orders\r')
    const { code, screen } = await purge.ended
    assert.equal(code, 0, screen)
    assert.equal(await visible(scene), 0)
  })

  test.each([
    ['something else is typed', 'order\r', 4],
    ['Ctrl-C is pressed', '\u0003', 130],
    ['Ctrl-D is pressed', '\u0004', 4],
  ])('does not happen when %s', async (_name, keys, code) => {
    const scene = await withOrders()
    const purge = onTerminal(['queue', 'purge', 'orders', '--data', scene.data])
    await purge.shows(/Type orders/)
    purge.type(keys)
    const { code: ended, screen } = await purge.ended
    assert.equal(ended, code, screen)
    assert.match(screen, /nothing was done|Nothing was done/)
    assert.equal(isCursorShown(purge.raw), true)
    assert.equal(await visible(scene), 1)
  })
})

describe('colour on a terminal', () => {
  const bold = '\u001B[1m'

  test('is there, unless the user or the environment says otherwise', async () => {
    const { data } = await withOrders()
    const args = ['queue', 'list', '--data', data]
    const shown = async (
      flags: readonly string[],
      env: Record<string, string>,
    ): Promise<boolean> => {
      const list = onTerminal([...args, ...flags], env)
      await list.ended
      return list.raw.includes(bold)
    }
    assert.equal(await shown([], {}), true)
    assert.equal(await shown([], { NO_COLOR: '1' }), false)
    assert.equal(await shown(['--color', 'never'], { FORCE_COLOR: '1' }), false)
  })
})

describe('dev on a terminal', () => {
  test('obeys single keys, and gives the terminal back', async () => {
    const { data } = await cliScene()
    const dev = onTerminal(['dev', '--port', '0', '--data', data])
    await dev.shows(/^Keys: c clear, r reload, q quit/m)
    dev.type('c')
    dev.type('q')
    const { code, screen } = await dev.ended
    assert.equal(code, 0, screen)
    assert.ok(dev.raw.includes('\u001B[2J'))
  })

  test('ends at Ctrl-C', async () => {
    const { data } = await cliScene()
    const dev = onTerminal(['dev', '--port', '0', '--data', data])
    await dev.shows(/Keys:/)
    dev.type('\u0003')
    assert.equal((await dev.ended).code, 0)
  })
})
