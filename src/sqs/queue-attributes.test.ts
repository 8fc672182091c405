import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { defaultQueueSettings, type QueueSettings } from '../core/queue-settings.ts'
import { defaultHome } from './queue-address.ts'
import {
  attributesOfQueue,
  countAttributes,
  isQueueAttribute,
  type QueueAttributes,
  settingsFromAttributes,
} from './queue-attributes.ts'

const queue = { ...defaultHome, name: 'orders' }

function read(
  attributes: QueueAttributes,
  given: Partial<QueueSettings> = {},
): Partial<QueueSettings> {
  const { type = 'standard' } = given
  const current: QueueSettings = { ...defaultQueueSettings, ...given, type }
  return settingsFromAttributes(attributes, { queue, home: defaultHome, type, current })
}

function shown(given: Partial<QueueSettings> = {}): QueueAttributes {
  const { type = 'standard' } = given
  const settings = { ...defaultQueueSettings, ...given, type }
  const times = { createdAt: 1_700_000_000_999, changedAt: 1_700_000_001_000 }
  return attributesOfQueue({ name: 'orders', settings, tags: {}, ...times }, defaultHome)
}

const standard = {
  VisibilityTimeout: '30',
  MaximumMessageSize: '1048576',
  MessageRetentionPeriod: '345600',
  CreatedTimestamp: '1700000000',
  LastModifiedTimestamp: '1700000001',
  QueueArn: 'arn:aws:sqs:us-east-1:000000000000:orders',
  DelaySeconds: '0',
  ReceiveMessageWaitTimeSeconds: '0',
  SqsManagedSseEnabled: 'true',
}

describe('the attributes of a queue', () => {
  test('are nine, and three counts, on a new standard queue', () => {
    assert.deepEqual(shown(), standard)
    assert.deepEqual(countAttributes({ ready: 3, leased: 2, delayed: 1 }), {
      ApproximateNumberOfMessages: '3',
      ApproximateNumberOfMessagesNotVisible: '2',
      ApproximateNumberOfMessagesDelayed: '1',
    })
  })

  test('are four more on a FIFO queue', () => {
    assert.deepEqual(shown({ type: 'fifo' }), {
      ...standard,
      FifoQueue: 'true',
      ContentBasedDeduplication: 'false',
      DeduplicationScope: 'queue',
      FifoThroughputLimit: 'perQueue',
    })
  })

  test.each([
    ['VisibilityTimeout', '0', { visibilityMs: 0 }],
    ['VisibilityTimeout', '43200', { visibilityMs: 43_200_000 }],
    ['DelaySeconds', '900', { delayMs: 900_000 }],
    ['MessageRetentionPeriod', '60', { retentionMs: 60_000 }],
    ['MessageRetentionPeriod', '1209600', { retentionMs: 1_209_600_000 }],
    ['ReceiveMessageWaitTimeSeconds', '20', { receiveWaitMs: 20_000 }],
    ['MaximumMessageSize', '1024', { messageBytesMax: 1_024 }],
  ])('set %s to %s and show it', (name, value, settings) => {
    assert.deepEqual(read({ [name]: value }), settings)
    assert.equal(shown(settings)[name], value)
  })

  test.each([
    ['VisibilityTimeout', ['', ' 5', '-1', '5.5', '1e3', '43201', 'soon', '9'.repeat(40)]],
    ['DelaySeconds', ['', '901']],
    ['MessageRetentionPeriod', ['', '59', '1209601']],
    ['ReceiveMessageWaitTimeSeconds', ['', '21']],
    ['MaximumMessageSize', ['', '1023', '1048577']],
    ['KmsDataKeyReusePeriodSeconds', ['59', '86401']],
    ['SqsManagedSseEnabled', ['', 'yes']],
    ['Policy', ['{}']],
  ])('refuse what %s cannot be', (name, values) => {
    for (const value of values) {
      assert.throws(() => read({ [name]: value }), {
        code: 'InvalidAttributeValue',
        message: `Invalid value for the parameter ${name}.`,
      })
    }
  })

  test.each([
    ['Foobar', 'Unknown Attribute Foobar.'],
    ['All', 'Unknown Attribute All.'],
    ['QueueArn', 'Unknown Attribute QueueArn.'],
    ['ApproximateNumberOfMessages', 'Unknown Attribute ApproximateNumberOfMessages.'],
    ['__proto__', 'Unknown Attribute __proto__.'],
    ['FifoQueue', 'Unknown Attribute FifoQueue.'],
    ['ContentBasedDeduplication', 'Unknown Attribute ContentBasedDeduplication.'],
    [
      'DeduplicationScope',
      'You can specify the DeduplicationScope only when FifoQueue is set to true.',
    ],
    [
      'FifoThroughputLimit',
      'You can specify the FifoThroughputLimit only when FifoQueue is set to true.',
    ],
  ])('do not know %s on a standard queue', (name, message) => {
    const attributes = JSON.parse(`{"${name}": "true"}`)
    assert.throws(() => read(attributes), { code: 'InvalidAttributeName', message })
  })

  test('can be asked for when they can be set or shown', () => {
    for (const name of ['VisibilityTimeout', 'FifoQueue', 'QueueArn', 'CreatedTimestamp']) {
      assert.ok(isQueueAttribute(name), name)
    }
    for (const name of ['All', 'Foobar', 'toString', '']) assert.ok(!isQueueAttribute(name), name)
  })
})

describe('the attributes of a FIFO queue', () => {
  test('take booleans in any case', () => {
    assert.deepEqual(read({ ContentBasedDeduplication: 'TRUE' }, { type: 'fifo' }), {
      deduplicateByContent: true,
    })
    assert.equal(
      shown({ type: 'fifo', deduplicateByContent: true })['ContentBasedDeduplication'],
      'true',
    )
  })

  test('cannot make it a standard queue', () => {
    assert.deepEqual(read({ FifoQueue: 'True' }, { type: 'fifo' }), {})
    assert.throws(() => read({ FifoQueue: 'false' }, { type: 'fifo' }), {
      code: 'InvalidAttributeValue',
      message:
        'Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.',
    })
  })

  test('allow a limit for each group only with deduplication in each group', () => {
    const perGroup = { FifoThroughputLimit: 'perMessageGroupId' }
    const refused = {
      code: 'InvalidAttributeValue',
      message: /^Invalid value .* FifoThroughputLimit/,
    }
    assert.throws(() => read(perGroup, { type: 'fifo' }), refused)
    const both = read({ ...perGroup, DeduplicationScope: 'messageGroup' }, { type: 'fifo' })
    assert.equal(both.deduplicationScope, 'group')
    const settings = { type: 'fifo', ...both } as const
    assert.equal(shown(settings)['FifoThroughputLimit'], 'perMessageGroupId')
    assert.equal(shown(settings)['DeduplicationScope'], 'messageGroup')
    assert.throws(() => read({ DeduplicationScope: 'queue' }, settings), refused)
    read({ DeduplicationScope: 'queue', FifoThroughputLimit: 'perQueue' }, settings)
  })

  test.each([
    ['DeduplicationScope', 'everywhere'],
    ['FifoThroughputLimit', 'none'],
    ['ContentBasedDeduplication', '1'],
  ])('refuse %s of %s', (name, value) => {
    assert.throws(() => read({ [name]: value }, { type: 'fifo' }), {
      code: 'InvalidAttributeValue',
    })
  })
})

describe('attributes that the engine has no setting for', () => {
  const policy = '{"Statement":{"Effect":"Allow","Principal":"*","Action":"*"}}'

  test('are kept beside those that are there already', () => {
    const current = { annotations: { Policy: policy, other: 'kept' } }
    const { annotations = {} } = read({ KmsDataKeyReusePeriodSeconds: '60' }, current)
    assert.deepEqual(annotations, {
      Policy: policy,
      other: 'kept',
      KmsDataKeyReusePeriodSeconds: '60',
    })
    assert.equal(shown({ annotations })['Policy'], policy)
    // The key is what makes its reuse worth showing.
    assert.equal(shown({ annotations })['KmsDataKeyReusePeriodSeconds'], undefined)
  })

  test('are removed by an empty text', () => {
    const current = { annotations: { Policy: policy, KmsMasterKeyId: 'alias/key' } }
    assert.deepEqual(read({ Policy: '', KmsMasterKeyId: '' }, current), { annotations: {} })
  })

  test('are one kind of encryption at a time', () => {
    const refused = {
      code: 'InvalidAttributeName',
      message: /^You can use one type of server-side/,
    }
    const withKey = read({ KmsMasterKeyId: 'alias/key' })
    assert.deepEqual(shown(withKey), {
      ...standard,
      KmsMasterKeyId: 'alias/key',
      KmsDataKeyReusePeriodSeconds: '300',
      SqsManagedSseEnabled: 'false',
    })
    assert.throws(() => read({ SqsManagedSseEnabled: 'true' }, withKey), refused)
    const both = { KmsMasterKeyId: 'alias/key', SqsManagedSseEnabled: 'true' }
    assert.throws(() => read(both), refused)
    const back = read({ KmsMasterKeyId: '', SqsManagedSseEnabled: 'true' }, withKey)
    assert.deepEqual(shown(back), standard)
  })
})

describe('the policies about dead letters', () => {
  const deadLetterTargetArn = 'arn:aws:sqs:us-east-1:000000000000:dead'
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 5 })

  test('name the dead-letter queue, and an empty one removes it', () => {
    const settings = read({ RedrivePolicy })
    assert.deepEqual(settings, { deadLetter: { queue: 'dead', maxReceives: 5 } })
    assert.equal(shown(settings)['RedrivePolicy'], RedrivePolicy)
    assert.deepEqual(read({ RedrivePolicy: '' }, settings), { deadLetter: null })
  })

  test('show who is allowed only if it was set', () => {
    const RedriveAllowPolicy = '{"redrivePermission":"allowAll"}'
    const settings = read({ RedriveAllowPolicy })
    assert.equal(settings.deadLetterSources, 'all')
    assert.equal(shown(settings)['RedriveAllowPolicy'], RedriveAllowPolicy)
    const without = read({ RedriveAllowPolicy: '' }, settings)
    assert.deepEqual(shown(without), standard)
    const denied = read({ RedriveAllowPolicy: '{"redrivePermission":"denyAll"}' }, settings)
    assert.equal(denied.deadLetterSources, 'none')
    assert.equal(shown(denied)['RedriveAllowPolicy'], '{"redrivePermission":"denyAll"}')
  })
})

test('the type of a new queue is among its settings', () => {
  const scene = {
    queue: { ...queue, name: 'orders.fifo' },
    home: defaultHome,
    type: 'fifo',
  } as const
  assert.deepEqual(settingsFromAttributes({ FifoQueue: 'true' }, scene), { type: 'fifo' })
})
