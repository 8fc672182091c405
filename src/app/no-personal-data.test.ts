/** A contract without personal data holds on every way into and out of a queue. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { z } from 'zod'
import { type TemporaryFolder, temporaryFolder } from '../../test/support/temporary-folder.ts'
import { defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { fifo, queue } from '../contracts/queue-declaration.ts'
import { type Mill, open } from './open.ts'

const Grade = z.looseObject({ id: z.string() })
const careful = { schema: Grade, noPersonalData: true, deadLetter: { after: 3 } } as const
const tutor = defineApp('tutor', {
  queues: {
    grades: queue(careful),
    steps: fifo({ ...careful, deduplication: 'content' }),
    work: jobs({ types: { GRADE: Grade }, noPersonalData: true, deadLetter: {} }),
  },
})
/** Another program, which declares the same queue and does not care. */
const careless = defineApp('tutor', { queues: { grades: queue({ deadLetter: { after: 3 } }) } })
const personal = { id: 'g-1', student_name: 'Ana' }
const refused = { code: 'invalid_message', message: /student_name: got a string/ }

let folder: TemporaryFolder
let mill: Mill<typeof tutor>
beforeEach(async () => {
  folder = await temporaryFolder('no-personal-data')
  mill = await open(tutor, { data: folder.path, onNotice: () => undefined, log: false })
})
afterEach(async () => {
  await mill.close()
  await folder.remove()
})

describe('personal data', () => {
  test('is refused by every send, and nothing is stored', async () => {
    const { grades, steps } = mill.queues
    await assert.rejects(grades.send(personal), refused)
    await assert.rejects(grades.sendMany([{ id: 'g-2' }, personal]), refused)
    await assert.rejects(grades.prepare(personal).toEmitted(), refused)
    await assert.rejects(steps.send(personal, { group: 'g' }), refused)
    await assert.rejects(mill.jobs.enqueue('work', 'GRADE', personal), refused)
    assert.equal((await grades.statistics()).ready, 0)
    assert.deepEqual((await mill.jobs.list('work')).items, [])
  })

  test('that another program has sent is dead-lettered at receive', async () => {
    const other = await open(careless, { data: folder.path })
    await other.queues.grades.sendMany([personal, { id: 'g-2' }])
    await other.close()
    const received = await mill.queues.grades.receive({ max: 10 })
    assert.deepEqual(
      received.map(({ message }) => message.id),
      ['g-2'],
    )
    const dead = await mill.queues.grades.deadLetters?.peek()
    const [letter] = dead?.items ?? []
    assert.match(letter?.deadLetterOrigin?.reason ?? '', /^invalid_message: message\.student_name/)
    assert.doesNotMatch(letter?.deadLetterOrigin?.reason ?? '', /Ana/)
  })

  test('never reaches the handler of a worker', async () => {
    const other = await open(careless, { data: folder.path })
    await other.queues.grades.sendMany([personal, { id: 'g-2' }])
    await other.close()
    const seen: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const worker = mill.worker({
      poll: ['grades'],
      handle: {
        grades: ({ id }) => {
          seen.push(id)
          resolve()
        },
      },
    })
    worker.start()
    await promise
    await worker.stop()
    assert.deepEqual(seen, ['g-2'])
    assert.equal((await mill.queues.grades.deadLetters?.statistics())?.ready, 1)
  })
})
