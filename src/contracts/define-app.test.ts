import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { complaints } from '../../test/support/complaints.ts'
import { defineApp } from './define-app.ts'
import { fifo, queue } from './queue-declaration.ts'

function complaintsAbout(...queues: readonly unknown[]): readonly string[] {
  return complaints('app', {
    queues: Object.fromEntries(queues.map((declared, index) => [`q${index}`, declared])),
  })
}

const untyped = (options: unknown): unknown => ({ type: 'standard', options })

describe('an app', () => {
  test('keeps what was declared, and cannot be changed afterwards', () => {
    const video = queue({ schema: z.object({ fileKey: z.string() }), deadLetter: { after: 3 } })
    const app = defineApp('academy', { queues: { video }, stage: 'prod' })
    assert.deepEqual(app, { name: 'academy', stage: 'prod', queues: { video } })
    assert.ok(Object.isFrozen(app) && Object.isFrozen(app.queues))
  })

  test('accepts every setting within its limits', () => {
    const settings = {
      name: 'jobs',
      delay: '15m',
      visibilityTimeout: '12h',
      retention: '14d',
      receiveWait: '20s',
      maxMessageBytes: 1_024,
      tags: { team: 'media' },
    } as const
    const all = {
      one: queue({ ...settings, deadLetter: { after: 1, name: 'dead', retention: '14d' } }),
      two: fifo({
        ...settings,
        delay: '59s',
        retention: '1m',
        deduplication: 'content',
        deduplicationScope: 'group',
        deadLetter: { after: 1_000, name: 'dead.fifo' },
      }),
    }
    assert.deepEqual(complaints('app', { queues: all }), [])
  })

  test('reports everything that is wrong with it at once', () => {
    const found = complaints('my app', {
      stage: '',
      queue: {},
      queues: {
        video: queue({ visibilityTimeout: '13h', deadLetter: { after: 0 } }),
        lite: queue({ retention: '30s' }),
      },
    })
    assert.deepEqual(
      found.map((line) => line.split(':')[0]),
      [
        'name',
        'stage',
        'queue',
        'queues.video.deadLetter.after',
        'queues.video.visibilityTimeout',
        'queues.lite.retention',
      ],
    )
  })

  test.each([undefined, '', 'my app', 'app-', '-app', 'app.one', 7])('is not named %j', (name) => {
    assert.match(complaints(name, { queues: {} })[0] ?? '', /^name: got .*, expected letters/)
  })

  test('needs its queues in an object', () => {
    assert.deepEqual(complaints('app', { queues: [] }), [
      'queues: got an array, expected an object of queues',
    ])
  })

  test('hints at the setting that was meant', () => {
    const [complaint] = complaints('app', { queues: {}, stages: 'x' })
    assert.match(complaint ?? '', /^stages: .*; did you mean 'stage'\?$/)
  })
})

describe('the settings of a queue', () => {
  test.each<[unknown, string]>([
    [{ delay: '16m' }, 'q0.delay: got 16m, expected a duration, 0s to 15m'],
    [{ visibilityTimeout: '13h' }, 'q0.visibilityTimeout: got 13h, expected a duration, 0s to 12h'],
    [{ retention: '59s' }, 'q0.retention: got 59s, expected a duration, 1m to 14d'],
    [{ receiveWait: '21s' }, 'q0.receiveWait: got 21s, expected a duration, 0s to 20s'],
    [
      { delay: '10m', retention: '10m' },
      'q0.delay: got 10m, expected less than the retention of the queue, 10m: the message would expire before it is due',
    ],
    [{ delay: 5 }, "q0.delay: got 5, expected a duration, 0s to 15m, written as '30s'"],
    [
      { maxMessageBytes: 1_023 },
      'q0.maxMessageBytes: got 1023, expected a whole number, 1024 to 1048576 bytes',
    ],
    [
      { deadLetter: { after: 1_001 } },
      'q0.deadLetter.after: got 1001, expected a whole number, 1 to 1000 receives',
    ],
    [
      { deadLetter: 3 },
      "q0.deadLetter: got 3, expected an object such as { after: 3 } or { after: 3, queue: 'otherQueue' }",
    ],
    [
      { deadLetter: { after: 3, retention: '15d' } },
      'q0.deadLetter.retention: got 15d, expected a duration, 1m to 14d',
    ],
    [
      { deadLetter: { after: 3, queue: 4 } },
      'q0.deadLetter.queue: got 4, expected the key of a declared queue',
    ],
    [
      { tags: { team: 4 } },
      'q0.tags: got a value of type object, expected an object whose values are strings',
    ],
    [
      { schema: { fileKey: 'string' } },
      'q0.schema: got a value of type object, expected a Standard Schema, such as one of zod, valibot or arktype',
    ],
    [
      { schema: 'video' },
      "q0.schema: got 'video', expected a Standard Schema, such as one of zod, valibot or arktype",
    ],
    [
      { name: 'jobs.fifo' },
      "q0.name: got 'jobs.fifo', expected a name without '.fifo' on a standard queue",
    ],
    [
      { deduplication: 'content' },
      'q0.deduplication: got an option of FIFO queues, expected a queue declared with fifo({...})',
    ],
  ])('refuse %j', (options, complaint) => {
    assert.deepEqual(complaintsAbout(untyped(options)), [`queues.${complaint}`])
  })

  test.each([
    ['visibility', 'visibilityTimeout'],
    ['retentoin', 'retention'],
    ['deadletter', 'deadLetter'],
    ['maxMessageByte', 'maxMessageBytes'],
  ])('hint that %s may have been meant as %s', (given, meant) => {
    const [complaint] = complaintsAbout(untyped({ [given]: 1 }))
    assert.match(
      complaint ?? '',
      new RegExp(`^queues.q0.${given}: .*; did you mean '${meant}'\\?$`),
    )
  })

  test('give no hint when nothing is near', () => {
    const [complaint] = complaintsAbout(untyped({ xyz: 1 }))
    assert.match(complaint ?? '', /expected one of schema, name, [a-zA-Z, ]+$/)
  })

  test('cannot give a shared dead-letter queue a name of its own', () => {
    const found = complaintsAbout(
      queue(),
      untyped({ deadLetter: { after: 3, queue: 'q0', name: 'x' } }),
    )
    assert.deepEqual(found, [
      'queues.q1.deadLetter.name: got an unknown option, expected one of after, queue',
    ])
  })

  test('refuse other words for deduplication', () => {
    const found = complaintsAbout({
      type: 'fifo',
      options: { deduplication: 'both', deduplicationScope: 'messageGroup' },
    })
    assert.deepEqual(found, [
      "queues.q0.deduplication: got 'both', expected one of content, explicit",
      "queues.q0.deduplicationScope: got 'messageGroup', expected one of queue, group",
    ])
  })

  test.each([null, 'video', {}, { type: 'other', options: {} }, { type: 'fifo' }, z.string()])(
    'come from queue, fifo, jobs or triggers, not from %j',
    (declared) => {
      assert.match(
        complaintsAbout(declared)[0] ?? '',
        /expected queue\({...}\), fifo\({...}\), jobs\({...}\) or triggers\({...}\)$/,
      )
    },
  )
})

describe('dead letters', () => {
  test('may go to another declared queue, and from there to a third', () => {
    const found = complaintsAbout(
      queue({ deadLetter: { after: 3, queue: 'q1' } }),
      queue({ deadLetter: { after: 3, queue: 'q2' } }),
      queue(),
    )
    assert.deepEqual(found, [])
  })

  test('do not go to a queue that is not declared', () => {
    const wrong = queue({ delay: '1h', deadLetter: { after: 3, queue: 'q9' } })
    assert.deepEqual(complaintsAbout(wrong, queue()), [
      'queues.q0.delay: got 1h, expected a duration, 0s to 15m',
      "queues.q0.deadLetter.queue: got 'q9', expected the key of a declared queue; did you mean 'q1'?",
    ])
  })

  test('do not go to the queue that they come from', () => {
    assert.deepEqual(complaintsAbout(queue({ deadLetter: { after: 3, queue: 'q0' } })), [
      "queues.q0.deadLetter.queue: got 'q0', the queue itself, expected another queue",
    ])
  })

  test('do not go round in a circle', () => {
    const found = complaintsAbout(
      queue({ deadLetter: { after: 3, queue: 'q1' } }),
      queue({ deadLetter: { after: 3, queue: 'q2' } }),
      queue({ deadLetter: { after: 3, queue: 'q1' } }),
    )
    assert.deepEqual(found, [
      "queues.q1.deadLetter.queue: got 'q2', whose dead letters return to 'q1', expected a queue whose dead letters do not return here",
      "queues.q2.deadLetter.queue: got 'q1', whose dead letters return to 'q2', expected a queue whose dead letters do not return here",
    ])
  })

  test('stay within one type of queue', () => {
    const found = complaintsAbout(fifo({ deadLetter: { after: 3, queue: 'q1' } }), queue())
    assert.deepEqual(found, [
      "queues.q0.deadLetter.queue: got 'q1', a standard queue, expected a fifo queue",
    ])
  })

  test('to a queue that is itself wrong are reported with that queue alone', () => {
    const found = complaintsAbout(
      queue({ deadLetter: { after: 3, queue: 'q1' } }),
      untyped({ delay: '1d' }),
    )
    assert.deepEqual(found, ['queues.q1.delay: got 1d, expected a duration, 0s to 15m'])
  })
})

describe('the names of queues', () => {
  test('may not be longer than 80 characters with app, stage and suffix', () => {
    const long = 'a'.repeat(67)
    assert.deepEqual(complaints('app', { queues: { [`${long}aaaaa`]: queue() } }), [])
    assert.deepEqual(complaints('app', { queues: { [long]: fifo() } }), [])
    const found = complaints('app', { queues: { [`${long}a`]: fifo() } })
    assert.match(
      found.join(),
      /^queues.a+.name: got 'app-dev-a+…' \(81 characters\), expected 1 to 80/,
    )
  })

  test('are checked with the stage that the app names', () => {
    const key = 'a'.repeat(70)
    assert.equal(complaints('app', { stage: 'production', queues: { [key]: queue() } }).length, 1)
  })

  test('are checked for derived dead-letter queues, too', () => {
    const found = complaints('app', {
      queues: { ['a'.repeat(70)]: queue({ deadLetter: { after: 3 } }) },
    })
    assert.match(found.join(), /^queues.a+.deadLetter.name: got 'app-dev-a+…' \(82 characters\)/)
  })

  test('belong to one queue each', () => {
    const found = complaints('app', {
      queues: {
        videoJobs: queue(),
        'video-jobs': queue(),
        other: queue({ name: 'app-dev-third-dlq' }),
        third: queue({ deadLetter: { after: 3 } }),
      },
    })
    assert.deepEqual(found, [
      "queues.video-jobs.name: got 'app-dev-video-jobs', expected a unique name; queues.videoJobs already has it",
      "queues.third.deadLetter.name: got 'app-dev-third-dlq', expected a unique name; queues.other already has it",
    ])
  })

  test('have no characters that a backend does not take', () => {
    assert.match(complaintsAbout(queue({ name: 'vidéo' })).join(), /^queues.q0.name: got 'vidéo'/)
    const [complaint] = complaints('app', { queues: { 'a b': queue() } })
    assert.match(complaint ?? '', /^queues.a b: got 'a b', expected letters/)
  })
})
