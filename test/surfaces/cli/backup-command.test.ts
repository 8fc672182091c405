/** `millrace backup` and `millrace restore`, as an operator uses them. */
import assert from 'node:assert/strict'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { describe, test } from 'vitest'
import { assertRefused, type CliScene, cliScene } from './cli-scene.ts'

async function sceneWithMessages(): Promise<CliScene> {
  const scene = await cliScene()
  const { backend } = await scene.store()
  await backend.createQueue({ queue: 'orders' })
  const messages = Array.from({ length: 10 }, () => ({ body: 'b'.repeat(100_000) }))
  for (let sent = 0; sent < 5; sent += 1) await backend.send({ queue: 'orders', messages })
  return scene
}

describe('millrace backup', () => {
  test('copies a store in use; restore makes a store of the copy', async () => {
    const { good, read, file } = await sceneWithMessages()
    const copy = file('copy.db')
    assert.match(await good('backup', copy), /^Wrote and verified \S+copy\.db \(\d+ kB\)\.\n$/)
    const restored = file('restored')
    const report = await read('restore', copy, '--data', restored)
    assert.deepEqual(report, {
      file: `${restored}/millrace.db`,
      bytes: (await stat(copy)).size,
    })
    const { queues } = await read('queue', 'list', '--data', restored)
    assert.equal(queues[0].name, 'orders')
    assert.equal(queues[0].visible, 50)
  })

  test('answers JSON, and draws a bar on a terminal', async () => {
    const { start, file } = await sceneWithMessages()
    const copy = file('copy.db')
    const { code, stdout, stderr } = await start(['backup', copy, '--json'], {
      errIsTerminal: true,
    }).ended
    assert.equal(code, 0, stderr)
    const { size: bytes } = await stat(copy)
    assert.deepEqual(JSON.parse(stdout), { file: copy, bytes })
    assert.match(stderr, /Copied █+ \d+ of \d+ kB/)
  })

  test('does not overwrite a file', async () => {
    const { run, write } = await sceneWithMessages()
    const copy = await write('copy.db', 'precious')
    const { code, stderr } = await run('backup', copy)
    assert.equal(code, 1)
    assert.match(stderr, /^error: \S+copy\.db exists, and is not overwritten/)
  })

  test('leaves nothing behind at Ctrl-C', async () => {
    const { start, file, data } = await sceneWithMessages()
    const run = start(['backup', file('copy.db')], { errIsTerminal: true })
    await run.notice(/Copied/)
    run.interrupt()
    const { code, stderr } = await run.ended
    assert.equal(code, 130)
    assert.match(stderr, /Interrupted\. No backup was written/)
    const names = await readdir(file('.'))
    assert.deepEqual(
      names.filter((name) => name.includes('copy')),
      [],
      data,
    )
  })

  test('needs a store', async () => {
    const { run, file } = await cliScene()
    assert.equal((await run('backup', file('copy.db'))).code, 6)
  })
})

describe('millrace restore', () => {
  test('does not overwrite a store', async () => {
    const { good, run, file } = await sceneWithMessages()
    await good('backup', file('copy.db'))
    const { code, stderr } = await run('restore', file('copy.db'))
    assert.equal(code, 1)
    assert.match(stderr, /millrace\.db(-wal)? exists, and is not overwritten/)
  })

  test('refuses what is not a backup', async () => {
    const { run, write, file, data } = await cliScene()
    const notes = await write('notes.txt', 'shopping list\n'.repeat(100))
    const { code, stderr } = await run('restore', notes)
    assert.equal(code, 6)
    assert.match(stderr, /notes\.txt.*not a Millrace store/)
    assert.deepEqual(await readdir(file('.')), ['notes.txt'], data)
    await rm(notes)
    const end = await run('restore', notes, '--data', file('a/b'))
    assertRefused(end, 6, /^error: Cannot read \S+notes\.txt: it does not exist\.\n$/)
    assert.deepEqual(await readdir(file('.')), [])
  })

  test('keeps a data directory that was there', async () => {
    const { run, write, file, data } = await cliScene()
    await mkdir(data)
    await run('restore', await write('notes.txt', 'shopping list'))
    assert.deepEqual((await readdir(file('.'))).sort(), ['data', 'notes.txt'])
  })

  test('leaves nothing behind at Ctrl-C', async () => {
    const { good, start, file } = await sceneWithMessages()
    await good('backup', file('copy.db'))
    const to = ['--data', file('restored/here')]
    const run = start(['restore', file('copy.db'), ...to], { errIsTerminal: true })
    await run.notice(/Copied █* *░+ \d+ of \d+ kB/)
    run.interrupt()
    const { code, stderr } = await run.ended
    assert.equal(code, 130)
    assert.match(stderr, /error: Interrupted\. Nothing was restored\.\n$/)
    assert.deepEqual((await readdir(file('.'))).sort(), ['copy.db', 'data'])
  })
})
