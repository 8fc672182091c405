import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { readEnvironment } from './environment.ts'

describe('the environment', () => {
  test('has defaults for all variables', () => {
    assert.deepEqual(readEnvironment({}), {
      AWS_REGION: 'ap-northeast-2',
      VIDEO_SQS_QUEUE_NAME: 'academy-video-jobs',
      VIDEO_SQS_DLQ_NAME: 'academy-video-jobs-dlq',
      AI_SQS_QUEUE_NAME_LITE: 'academy-ai-jobs-lite',
      AI_SQS_QUEUE_NAME_BASIC: 'academy-ai-jobs-basic',
      AI_SQS_QUEUE_NAME_PREMIUM: 'academy-ai-jobs-premium',
      AI_WORKER_MODE: 'cpu',
      AI_WORKER_BASIC_POLL_WEIGHT: 3,
      AI_WORKER_LITE_POLL_WEIGHT: 1,
      ACADEMY_DATA: '.millrace/academy',
    })
  })

  test('ignores empty variables', () => {
    const { VIDEO_SQS_QUEUE_NAME } = readEnvironment({ VIDEO_SQS_QUEUE_NAME: '' })
    assert.equal(VIDEO_SQS_QUEUE_NAME, 'academy-video-jobs')
  })

  test('names the dead-letter queue after a renamed video queue', () => {
    const { VIDEO_SQS_DLQ_NAME } = readEnvironment({ VIDEO_SQS_QUEUE_NAME: 'films' })
    assert.equal(VIDEO_SQS_DLQ_NAME, 'films-dlq')
  })

  test('is refused with the names of all wrong variables and no values', () => {
    const wrong = { AI_WORKER_MODE: 'tpu', AI_WORKER_BASIC_POLL_WEIGHT: '-7' }
    assert.throws(
      () => readEnvironment(wrong),
      ({ message }: Error) =>
        /^AI_WORKER_MODE: /m.test(message) &&
        /^AI_WORKER_BASIC_POLL_WEIGHT: /m.test(message) &&
        !/tpu|-7/.test(message),
    )
  })
})
