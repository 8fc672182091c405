import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { MillraceError } from '../core/millrace-error.ts'
import { defineApp } from './define-app.ts'
import { fifo, queue } from './queue-declaration.ts'
import { kebabCase } from './resolve-names.ts'
import { resolveQueues } from './resolve-queues.ts'

const namesOf = (app: Parameters<typeof resolveQueues>[0], stage = 'dev'): readonly string[] =>
  resolveQueues(app, stage).planned.map((planned) => planned.queue)

describe('the names on the backend', () => {
  test('are made of app, stage and queue', () => {
    const app = defineApp('academy', {
      queues: { videoJobs: queue(), attemptStream: fifo(), lite: queue({ name: 'ai-jobs-lite' }) },
    })
    assert.deepEqual(namesOf(app, 'prod'), [
      'academy-prod-video-jobs',
      'academy-prod-attempt-stream.fifo',
      'ai-jobs-lite',
    ])
  })

  test('of dead-letter queues follow those of their queues', () => {
    const app = defineApp('academy', {
      queues: {
        video: queue({ deadLetter: { after: 3 } }),
        attempts: fifo({ deadLetter: { after: 3 } }),
        lite: queue({ name: 'lite', deadLetter: { after: 3 } }),
        basic: fifo({ name: 'basic.fifo', deadLetter: { after: 3 } }),
        premium: fifo({ deadLetter: { after: 3, name: 'graveyard' } }),
      },
    })
    assert.deepEqual(
      namesOf(app).filter((name) => /dlq|grave/.test(name)),
      [
        'academy-dev-video-dlq',
        'academy-dev-attempts-dlq.fifo',
        'lite-dlq',
        'basic-dlq.fifo',
        'graveyard.fifo',
      ],
    )
  })

  test.each([
    ['video', 'video'],
    ['videoJobs', 'video-jobs'],
    ['VideoJobs', 'video-jobs'],
    ['LLMClassify', 'llm-classify'],
    ['ocr2Text', 'ocr2-text'],
    ['video_jobs', 'video_jobs'],
    ['video-jobs', 'video-jobs'],
  ])('have %s as %s in them', (key, kebab) => {
    assert.equal(kebabCase(key), kebab)
  })

  test('are checked with the stage at hand', () => {
    const app = defineApp('academy', { queues: { ['v'.repeat(68)]: queue() } })
    assert.throws(
      () => resolveQueues(app, 'production'),
      (error) => error instanceof MillraceError && error.code === 'invalid_contract',
    )
    assert.throws(() => resolveQueues(app, 'my stage'), /^MillraceError: stage: got 'my stage'/)
  })
})

describe('the planned queues', () => {
  test('come after their dead-letter queues', () => {
    const app = defineApp('app', {
      queues: {
        first: queue({ deadLetter: { after: 3, queue: 'second' } }),
        second: queue({ deadLetter: { after: 3, queue: 'third' } }),
        third: queue({ deadLetter: { after: 3 } }),
        fourth: queue({ deadLetter: { after: 3, queue: 'second' } }),
      },
    })
    const short = namesOf(app).map((name) => name.replace('app-dev-', ''))
    assert.deepEqual(short, ['third-dlq', 'third', 'second', 'first', 'fourth'])
  })

  test('have every setting spelled out, as declared or as the default', () => {
    const tags = { team: 'media' }
    const app = defineApp('app', {
      queues: {
        plain: queue(),
        video: fifo({
          delay: '5s',
          visibilityTimeout: '5m',
          retention: '14d',
          receiveWait: '20s',
          maxMessageBytes: 2_048,
          deduplication: 'content',
          deduplicationScope: 'group',
          deadLetter: { after: 3, retention: '7d' },
          tags,
        }),
      },
    })
    const defaults = {
      type: 'standard',
      visibilityMs: 30_000,
      delayMs: 0,
      retentionMs: 345_600_000,
      receiveWaitMs: 0,
      messageBytesMax: 1_048_576,
      deadLetter: null,
      deduplicateByContent: false,
      deduplicationScope: 'queue',
      ceilings: {
        running: null,
        runningPerTenant: null,
        runningPerType: {},
        rate: null,
        perKey: [],
      },
      obeys: { queue: [], types: {} },
      history: { completedMs: 2_592_000_000, failedMs: 7_776_000_000 },
      hidden: [],
      jobTypes: [],
    }
    assert.deepEqual(resolveQueues(app, 'dev').planned, [
      { queue: 'app-dev-plain', settings: defaults, tags: {} },
      {
        queue: 'app-dev-video-dlq.fifo',
        settings: { ...defaults, type: 'fifo', retentionMs: 604_800_000 },
        tags,
      },
      {
        queue: 'app-dev-video.fifo',
        settings: {
          ...defaults,
          type: 'fifo',
          visibilityMs: 300_000,
          delayMs: 5_000,
          retentionMs: 1_209_600_000,
          receiveWaitMs: 20_000,
          messageBytesMax: 2_048,
          deadLetter: { queue: 'app-dev-video-dlq.fifo', maxReceives: 3 },
          deduplicateByContent: true,
          deduplicationScope: 'group',
        },
        tags,
      },
    ])
  })

  test('keep dead letters for fourteen days unless told otherwise', () => {
    const app = defineApp('app', { queues: { video: queue({ deadLetter: { after: 3 } }) } })
    const [deadLetters] = resolveQueues(app, 'dev').planned
    assert.equal(deadLetters?.settings.retentionMs, 1_209_600_000)
  })
})
