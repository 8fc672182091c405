import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import { type Mill, open } from '../app/open.ts'
import { defineApp } from '../contracts/define-app.ts'
import { queue } from '../contracts/queue-declaration.ts'
import { type VirtualClock, virtualPorts } from '../testing/virtual-clock.ts'

const academy = defineApp('academy', {
  queues: {
    video: queue({ schema: z.object({ videoId: z.number() }), deadLetter: { after: 1 } }),
    mail: queue({ schema: z.string() }),
  },
})

interface Scene {
  readonly mill: Mill<typeof academy>
  readonly clock: VirtualClock
}

async function openAcademy(): Promise<Scene> {
  const folder = await temporaryFolder('operations')
  const ports = virtualPorts()
  const mill = await open(academy, { data: folder.path, ports })
  onTestFinished(async () => {
    await mill.close()
    await folder.remove()
  })
  return { mill, clock: ports.clock }
}

/** Puts messages into the dead-letter queue of the videos. */
async function makeDeadLetters(mill: Mill<typeof academy>, count: number): Promise<void> {
  const videos = Array.from({ length: count }, (_, videoId) => ({ videoId }))
  await mill.queues.video.sendMany(videos)
  for (const delivery of await mill.queues.video.receive({ max: count })) {
    await delivery.deadLetter('no such file')
  }
}

function deadLettersOf({
  queues,
}: Mill<typeof academy>): NonNullable<Mill<typeof academy>['queues']['video']['deadLetters']> {
  assert.ok(queues.video.deadLetters !== null)
  return queues.video.deadLetters
}

describe('an operator', () => {
  test('reads counts and messages without touching them', async () => {
    const { mill } = await openAcademy()
    await mill.queues.mail.sendMany(['one', 'two', 'three'])
    const page = await mill.queues.mail.peek({ limit: 2 })
    const rest = await mill.queues.mail.peek({ limit: 2, ...(page.next && { after: page.next }) })
    assert.deepEqual(
      [...page.items, ...rest.items].map(({ body, receiveCount }) => [body, receiveCount]),
      [
        ['"one"', 0],
        ['"two"', 0],
        ['"three"', 0],
      ],
    )
    const { ready, leased, totals } = await mill.queues.mail.statistics()
    assert.deepEqual([ready, leased, totals.received], [3, 0, 0])
  })

  test('empties a queue', async () => {
    const { mill } = await openAcademy()
    await mill.queues.mail.sendMany(['one', 'two'])
    await mill.queues.mail.purge()
    assert.equal((await mill.queues.mail.statistics()).ready, 0)
  })

  test('finds no dead letters where none were declared', async () => {
    const { mill } = await openAcademy()
    assert.equal(mill.queues.mail.deadLetters, null)
  })

  test('sees why a message died, and where', async () => {
    const { mill } = await openAcademy()
    await makeDeadLetters(mill, 1)
    const [dead] = (await deadLettersOf(mill).peek()).items
    assert.equal(dead?.deadLetterOrigin?.source, mill.queues.video.name)
    assert.equal(dead.deadLetterOrigin.reason, 'no such file')
  })
})

describe('a redrive', () => {
  test('sends dead letters back to their queue, and tells when it is done', async () => {
    const { mill, clock } = await openAcademy()
    await makeDeadLetters(mill, 5)
    const redrive = await deadLettersOf(mill).redrive()
    const finished = redrive.finished()
    await clock.advance(5_000)
    const { status, moved, toMove } = await finished
    assert.deepEqual([status, moved, toMove], ['completed', 5, 5])
    assert.equal((await mill.queues.video.receive({ max: 10 })).length, 5)
    assert.equal((await deadLettersOf(mill).redrives())[0]?.id, redrive.id)
  })

  test('keeps to its rate, shows its progress, and can be cancelled', async () => {
    const { mill, clock } = await openAcademy()
    await makeDeadLetters(mill, 50)
    const redrive = await deadLettersOf(mill).redrive({ perSecond: 2 })
    await clock.advance(5_000)
    const { moved, status } = await redrive.progress()
    assert.ok(moved > 1 && moved <= 11, `${moved} were moved`)
    assert.equal(status, 'running')
    assert.equal((await redrive.cancel()).status, 'cancelling')
    await clock.advance(2_000)
    assert.equal((await redrive.finished()).status, 'cancelled')
    const [back, left] = [
      await mill.queues.video.statistics(),
      await deadLettersOf(mill).statistics(),
    ]
    assert.equal(back.ready + left.ready, 50)
  })

  test('continues when the wait for it is aborted', async () => {
    const { mill, clock } = await openAcademy()
    await makeDeadLetters(mill, 3)
    const redrive = await deadLettersOf(mill).redrive({ perSecond: 1 })
    const giveUp = new AbortController()
    const waiting = redrive.finished({ signal: giveUp.signal })
    await clock.advance(1_000)
    giveUp.abort(new Error('no more patience'))
    await assert.rejects(waiting, /no more patience/)
    await clock.advance(10_000)
    assert.equal((await redrive.progress()).status, 'completed')
  })

  test('can go to another queue, and is refused when that does not exist', async () => {
    const { mill, clock } = await openAcademy()
    await makeDeadLetters(mill, 2)
    const deadLetters = deadLettersOf(mill)
    await assert.rejects(deadLetters.redrive({ to: 'nowhere' }), { code: 'queue_not_found' })
    await deadLetters.redrive({ to: mill.queues.mail.name })
    await assert.rejects(deadLetters.redrive(), { code: 'move_task_running' })
    await clock.advance(5_000)
    assert.equal((await mill.queues.mail.statistics()).ready, 2)
  })
})
