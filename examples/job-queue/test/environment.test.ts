import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { readEnvironment } from '../environment.ts'

const JWT_SECRET = 'a secret of more than thirty-two characters'

describe('the environment', () => {
  test('has the specified defaults', () => {
    const environment = readEnvironment({ JWT_SECRET })
    assert.deepEqual(
      {
        attempts: environment.attempts,
        backoffMs: environment.backoffMs,
        workerConcurrency: environment.workerConcurrency,
        deadLettersKept: environment.deadLettersKept,
        courseConcurrency: environment.courseConcurrency,
        courseLimiterMs: environment.courseLimiterMs,
      },
      {
        attempts: 3,
        backoffMs: 5_000,
        workerConcurrency: 5,
        deadLettersKept: 50,
        courseConcurrency: 2,
        courseLimiterMs: 2_000,
      },
    )
  })

  test('reads given values', () => {
    const { attempts, courseLimiterMs } = readEnvironment({
      JWT_SECRET,
      JOB_QUEUE_DEFAULT_ATTEMPTS: '7',
      JOB_QUEUE_COURSE_GEN_LIMITER_MS: '8000',
    })
    assert.deepEqual([attempts, courseLimiterMs], [7, 8_000])
  })

  test('is refused with the names of all wrong variables and no values', () => {
    const wrong = {
      JWT_SECRET: 'short-secret',
      JOB_QUEUE_DEFAULT_ATTEMPTS: '0',
      JOB_QUEUE_WORKER_CONCURRENCY: 'five-of-them',
      SMTP_URL: 'http://user:pass-word@mail.example',
    }
    assert.throws(
      () => readEnvironment(wrong),
      ({ message }: Error) => {
        for (const name of Object.keys(wrong)) assert.ok(message.includes(name), name)
        for (const value of Object.values(wrong).filter((text) => text.length > 1)) {
          assert.ok(!message.includes(value), value)
        }
        return true
      },
    )
    assert.throws(() => readEnvironment({}), /JWT_SECRET/)
  })

  test('accepts a Redis URL, and does not keep it', () => {
    const REDIS_URL = 'redis://default:hidden@redis.example:6379'
    assert.ok(!JSON.stringify(readEnvironment({ JWT_SECRET, REDIS_URL })).includes('hidden'))
  })
})
