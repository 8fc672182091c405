import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { openStorage } from './storage.ts'

const storage = openStorage('files')

describe('a file key', () => {
  test('is a path below the folder', () => {
    const key = 'videos/tenant-1/video-123.mp4'
    assert.equal(storage.path(key), join('files', key))
  })

  test.each([
    '../secrets',
    'videos/../../secrets',
    '/etc/passwd',
    'videos//x',
    'video.mp4',
    'a/..',
  ])('cannot point outside the folder: %s', (key) => {
    assert.throws(() => storage.path(key), /file key/)
  })
})
