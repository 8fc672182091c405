/** The alarm rules of the systems that Millrace is built for, each at its threshold and its period. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { createAcademy } from '../../examples/academy/app.ts'
import { readEnvironment } from '../../examples/academy/environment.ts'
import { alarm, defineApp, queue } from '../../src/index.ts'
import { minute, openAlarmScene, times } from './alarm-scene.ts'

describe('the replies engine', () => {
  const steady = { evaluationPeriods: 5 }
  const replies = defineApp('replies', {
    queues: {
      trigger: queue({ deadLetter: { after: 3 } }),
      whatsapp: queue({ deadLetter: { after: 3 } }),
      handoff: queue({ visibilityTimeout: '1h', retention: '7d' }),
    },
    alarms: [
      alarm.depth('*').above(100, { ...steady, name: 'backlog' }),
      alarm.inFlight('*').above(50, { evaluationPeriods: 10 }),
      alarm.oldestAge('whatsapp').above('1h'),
      alarm.oldestAge('handoff').above(3_600),
      alarm.oldestAge('trigger').above(600),
      alarm.dead('*').above(0, { statistic: 'sum', period: '1m', missingData: 'not_breaching' }),
      alarm.depth('handoff').above(50, { name: 'handoff is deep' }),
    ],
  })

  test.each(['trigger', 'whatsapp', 'handoff'])(
    'has more than 100 messages in %s for five minutes',
    async (key) => {
      const { watch, fill, hold, acknowledge } = await openAlarmScene(replies)
      const name = `replies-dev-${key}`
      const alarm = `${name}-backlog`
      await fill(name, 100)
      assert.deepEqual(await watch(alarm, 6), times(6, 'OK'))
      await fill(name, 1)
      assert.deepEqual(await watch(alarm, 6), [...times(4, 'OK'), 'ALARM', 'ALARM'])
      await acknowledge(name, await hold(name, 1))
      assert.deepEqual(await watch(alarm, 2), ['OK', 'OK'])
      // One minute below it is enough to begin anew.
      await fill(name, 1)
      assert.deepEqual(await watch(alarm, 5), [...times(4, 'OK'), 'ALARM'])
    },
  )

  test('has more than 50 messages in flight for ten minutes', async () => {
    const { watch, fill, hold, acknowledge } = await openAlarmScene(replies)
    const name = 'replies-dev-whatsapp'
    const alarm = `${name}-in-flight`
    await fill(name, 60)
    const held = [...(await hold(name, 50))]
    assert.deepEqual(await watch(alarm, 11), times(11, 'OK'))
    held.push(...(await hold(name, 1)))
    assert.deepEqual(await watch(alarm, 11), [...times(9, 'OK'), 'ALARM', 'ALARM'])
    await acknowledge(name, held.slice(0, 1))
    assert.deepEqual(await watch(alarm, 1), ['OK'])
  })

  test.each([
    ['whatsapp', 60],
    ['handoff', 60],
    ['trigger', 10],
  ])('has a message in %s that is older than %d minutes', async (key, minutes) => {
    const { clock, watch, fill, hold, acknowledge } = await openAlarmScene(replies)
    const name = `replies-dev-${key}`
    const alarm = `${name}-oldest-age`
    // With the end of a minute, so that its age is a whole number of them whenever it is looked at.
    await clock.advance(minute - (clock.now() % minute))
    await fill(name, 1)
    await clock.advance(10_000)
    assert.deepEqual(await watch(alarm, minutes), times(minutes, 'OK'))
    assert.deepEqual(await watch(alarm, 1), ['ALARM'])
    const held = await hold(name, 1)
    // A message in somebody's hands is not done, and grows older.
    assert.deepEqual(await watch(alarm, 1), ['ALARM'])
    await acknowledge(name, held)
    assert.deepEqual(await watch(alarm, 2), ['OK', 'OK'])
  })

  test.each(['trigger', 'whatsapp'])('has dead letters of %s', async (key) => {
    const { mill, backend, clock, watch, fill, fail, lines } = await openAlarmScene(replies)
    const name = `replies-dev-${key}`
    const alarm = `${name}-dlq-dead-letters`
    assert.deepEqual(await watch(alarm, 2), ['OK', 'OK'])
    await fill(name, 1)
    for (let attempt = 1; attempt <= 3; attempt += 1) await fail(name, 1)
    assert.deepEqual(await watch(alarm, 1), ['OK'])
    assert.deepEqual(await backend.receive({ queue: name, max: 1, waitMs: 0 }), [])
    assert.deepEqual(await watch(alarm, 2), ['ALARM', 'ALARM'])
    assert.equal((await mill.alarms.get(alarm))?.rule.severity, 'critical')
    const raised = lines.filter(({ fields }) => fields['alarm'] === alarm)
    assert.deepEqual(
      raised.map(({ level, fields }) => [level, fields['state'], fields['severity']]),
      [
        ['info', 'OK', 'critical'],
        ['error', 'ALARM', 'critical'],
      ],
    )
    await mill.queues[key === 'trigger' ? 'trigger' : 'whatsapp'].deadLetters?.redrive()
    await clock.advance(1_000)
    assert.deepEqual(await watch(alarm, 2), ['OK', 'OK'])
  })

  test('has more than 50 messages that wait for a person', async () => {
    const { watch, fill, hold } = await openAlarmScene(replies)
    const [name, alarm] = ['replies-dev-handoff', 'replies-dev-handoff is deep']
    await fill(name, 50)
    assert.deepEqual(await watch(alarm, 2), ['OK', 'OK'])
    await fill(name, 1)
    assert.deepEqual(await watch(alarm, 2), ['ALARM', 'ALARM'])
    await hold(name, 1)
    assert.deepEqual(await watch(alarm, 2), ['OK', 'OK'])
  })
})

describe('the academy, as its example declares it', () => {
  const academy = createAcademy(readEnvironment({}))
  const queues = [
    'academy-video-jobs',
    'academy-ai-jobs-lite',
    'academy-ai-jobs-basic',
    'academy-ai-jobs-premium',
  ]

  test.each(queues)('has more than 10 dead letters of %s', async (name) => {
    const { watch, fill, hold, acknowledge } = await openAlarmScene(academy)
    const dlq = `${name}-dlq`
    await fill(dlq, 10)
    assert.deepEqual(await watch(`${dlq}-dead-letters`, 2), ['OK', 'OK'])
    await fill(dlq, 1)
    assert.deepEqual(await watch(`${dlq}-dead-letters`, 2), ['ALARM', 'ALARM'])
    await acknowledge(dlq, await hold(dlq, 1))
    assert.deepEqual(await watch(`${dlq}-dead-letters`, 1), ['OK'])
  })

  test.each(queues)('has more than 1000 messages waiting in %s', async (name) => {
    const { watch, fill, hold } = await openAlarmScene(academy)
    await fill(name, 1_000)
    assert.deepEqual(await watch(`${name}-depth`, 1), ['OK'])
    await fill(name, 1)
    assert.deepEqual(await watch(`${name}-depth`, 1), ['ALARM'])
    await hold(name, 1)
    assert.deepEqual(await watch(`${name}-depth`, 1), ['OK'])
  })

  test.each(queues)('has more than one failing attempt in twenty in %s', async (name) => {
    const { watch, fill, hold, acknowledge, fail } = await openAlarmScene(academy)
    const alarm = `${name}-error-rate`
    assert.deepEqual(await watch(alarm, 1), ['INSUFFICIENT_DATA'])
    await fill(name, 100)
    await acknowledge(name, await hold(name, 19))
    await fail(name, 1)
    assert.deepEqual(await watch(alarm, 1), ['OK'])
    await acknowledge(name, await hold(name, 18))
    await fail(name, 1)
    assert.deepEqual(await watch(alarm, 1), ['ALARM'])
    // Minutes without attempts say nothing: what was last known counts for as long as the range goes.
    assert.deepEqual(await watch(alarm, 3), ['ALARM', 'ALARM', 'INSUFFICIENT_DATA'])
    await acknowledge(name, await hold(name, 1))
    assert.deepEqual(await watch(alarm, 1), ['OK'])
  })
})

describe('ingestion', () => {
  const ingestion = defineApp('ingestion', {
    queues: {
      ingest: queue({ deadLetter: { after: 3 } }),
      extract: queue({ deadLetter: { after: 3 } }),
      finalize: queue({ deadLetter: { after: 3 } }),
    },
    alarms: [
      alarm.metric('longest_ingesting_minutes').above(40, {
        name: 'document stuck',
        missingData: 'not_breaching',
      }),
    ],
  })

  test.each(['ingest', 'extract', 'finalize'])(
    'has any dead letter of %s, though nobody declared an alarm',
    async (key) => {
      const { watch, fill, hold, acknowledge } = await openAlarmScene(ingestion)
      const dlq = `ingestion-dev-${key}-dlq`
      assert.deepEqual(await watch(`${dlq}-not-empty`, 2), ['OK', 'OK'])
      await fill(dlq, 1)
      assert.deepEqual(await watch(`${dlq}-not-empty`, 2), ['ALARM', 'ALARM'])
      await acknowledge(dlq, await hold(dlq, 1))
      assert.deepEqual(await watch(`${dlq}-not-empty`, 2), ['OK', 'OK'])
    },
  )

  test('has a document that is stuck for more than 40 minutes', async () => {
    const { mill, watch } = await openAlarmScene(ingestion)
    const alarm = 'ingestion-dev-document stuck'
    const states = []
    for (let stuckFor = 38; stuckFor <= 42; stuckFor += 1) {
      await mill.metrics.put('longest_ingesting_minutes', stuckFor)
      states.push(...(await watch(alarm, 1)))
    }
    assert.deepEqual(states, ['OK', 'OK', 'OK', 'ALARM', 'ALARM'])
    await mill.metrics.put('longest_ingesting_minutes', 0)
    assert.deepEqual(await watch(alarm, 1), ['OK'])
  })
})
