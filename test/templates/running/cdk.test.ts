/** What `cdk synth` leaves behind: a template without names, and bundled code in a folder of assets. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { runCommand, untilVersion } from './running-project.ts'

const asset = 'asset.7c9f2d1be04a6358f1d7b2c49e8a0635d4f1c2b7a98e6d5034b1c7f29ae8d601'

describe('a cdk.out', () => {
  test('runs the bundled handler of an asset, and takes over a new bundle', async () => {
    const project = await runCommand('cdk', 'cdk.out')
    const { queueStarting, send, take, edit } = project
    const uploads = await queueStarting('PicturesStack-Uploads1F3D9B42-')
    const thumbnails = await queueStarting('PicturesStack-Thumbnails8E5C2A90-')
    await send(
      uploads,
      { body: { key: 'cat.png', width: 80 } },
      { body: { key: 'notes.txt', width: 80 } },
    )
    const made = { version: 'v1', key: 'thumbnails/cat.png', width: 80, receives: '1' }
    assert.deepEqual((await take(thumbnails)).body, made)
    const dead = await take(await queueStarting('PicturesStack-UploadsDlq6A0B1C7E-'))
    assert.deepEqual(dead.body, { key: 'notes.txt', width: 80 })
    assert.equal(dead.receives, 3)

    await edit(`cdk.out/${asset}/index.js`, (text) => text.replace("'v1'", "'v2'"))
    await untilVersion('v2', async (width) => {
      await send(uploads, { body: { key: 'dog.png', width } })
      return take(thumbnails)
    })
  })
})
