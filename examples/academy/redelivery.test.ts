import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { open, readFile, rename } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { systemPorts, type WorkerEvent } from 'millrace'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { startCommand } from '../../test/support/cli-process.ts'
import { type TemporaryFolder, temporaryFolder } from '../../test/support/temporary-folder.ts'
import { storeOnPortsTime, storeVariables } from '../shared/test/store.ts'
import { submitVideo } from './api.ts'
import { readEnvironment } from './environment.ts'
import { files } from './inputs/make-inputs.ts'
import { makeLessonVideo } from './inputs/make-lesson-video.ts'
import { type OpenAcademy, openAcademy } from './open-academy.ts'
import type { LeaseHolder, RecordStatus } from './records.ts'
import { videoHandler } from './video/handle-video.ts'

const lesson = { video_id: 123, file_key: files.lesson, tenant_code: 'hakwonplus' }
const job = { jobId: 'video-123', jobType: 'VIDEO' }

let shared: TemporaryFolder
let folder: TemporaryFolder
let variables: Readonly<Record<string, string>>
let academy: OpenAcademy
let minutesPassed = 0

/** A clock that the test can move forward, as if the machine had slept. */
const clock = {
  ...systemPorts.clock,
  now: () => systemPorts.clock.now() + minutesPassed * 60_000,
  uptime: () => ({ boot: 'test', ms: performance.now() + minutesPassed * 60_000 }),
}

beforeAll(async () => {
  shared = await temporaryFolder('academy-lesson')
  await makeLessonVideo(shared.file('lesson.mp4'))
})

afterAll(() => shared.remove())

beforeEach(async () => {
  minutesPassed = 0
  folder = await temporaryFolder('academy-redelivery')
  variables = { ACADEMY_DATA: folder.path, ...(await storeVariables()) }
  const options = { ports: { ...systemPorts, clock }, ...storeOnPortsTime(variables) }
  academy = await openAcademy(readEnvironment(variables), options)
  await academy.storage.write(files.lesson, await readFile(shared.file('lesson.mp4')))
  await submitVideo(academy, lesson)
})

afterEach(async () => {
  await academy.close()
  await folder.remove()
})

/** A worker that receives the message, marks the row as PROCESSING, and crashes. */
async function crash(): Promise<LeaseHolder> {
  const [delivery] = await academy.mill.queues.video.receive()
  assert.ok(delivery)
  const holder = { messageId: delivery.id, token: delivery.token }
  assert.ok(academy.records.begin(job, holder))
  return holder
}

/** Runs a worker until it has completed a message. */
async function workOnce(): Promise<WorkerEvent> {
  const completed = Promise.withResolvers<WorkerEvent>()
  const worker = academy.mill.worker({
    poll: ['video'],
    handle: { video: videoHandler({ ...academy, print: () => undefined }) },
    onEvent: (event) => {
      if (event.event === 'completed') completed.resolve(event)
    },
  })
  worker.start()
  const event = await completed.promise
  await worker.stop()
  return event
}

/** A video that never ends, so that the test can kill its worker while it is processing. */
async function pipeInsteadOf(file: string): Promise<{ restore(): Promise<void> }> {
  await rename(file, `${file}.kept`)
  execFileSync('mkfifo', [file])
  return {
    async restore() {
      // Opening the pipe for both reading and writing unblocks an ffmpeg that waits for a writer.
      const pipe = await open(file, 'r+')
      await rename(`${file}.kept`, file)
      await pipe.close()
    },
  }
}

const status = (): RecordStatus | undefined => academy.records.get(job.jobId)?.status

describe('a video whose worker crashed', () => {
  test('is completed by another worker after the lease has ended', async () => {
    const video = await pipeInsteadOf(academy.storage.path(files.lesson))
    const file = fileURLToPath(new URL('video-worker.ts', import.meta.url))
    const killed = startCommand(process.execPath, [file], { ...variables, TMPDIR: folder.path })
    await killed.output(/VIDEO video-123 attempt 1/)
    killed.kill('SIGKILL')
    assert.equal((await killed.ended).signal, 'SIGKILL')
    await video.restore()
    assert.equal(status(), 'PROCESSING')

    minutesPassed = 6
    assert.equal((await workOnce()).attempt, 2)
    assert.equal(status(), 'COMPLETED')
  })

  test('is not changed by the worker that lost its lease', async () => {
    const late = await crash()
    minutesPassed = 6
    await workOnce()
    assert.equal(academy.records.complete(job.jobId, late, 'too late'), false)
    assert.notEqual(academy.records.get(job.jobId)?.result, 'too late')
  })

  test('is completed by a redrive after three crashes, although its row is PROCESSING', async () => {
    const { video } = academy.mill.queues
    for (const minutes of [6, 12, 18]) {
      await crash()
      minutesPassed = minutes
    }
    // The next receive moves it to the dead-letter queue, because no worker reported a failure.
    assert.deepEqual(await video.receive(), [])
    assert.equal((await video.deadLetters.statistics()).ready, 1)
    assert.equal(status(), 'PROCESSING')

    const redrive = await video.deadLetters.redrive()
    assert.equal((await redrive?.finished())?.moved, 1)
    await workOnce()
    assert.equal(status(), 'COMPLETED')
  })

  test('is skipped by a second message that arrives before the lease has ended', async () => {
    const crashed = await crash()
    await submitVideo(academy, lesson)
    assert.notEqual((await workOnce()).id, crashed.messageId)
    assert.equal(status(), 'PROCESSING')

    minutesPassed = 6
    assert.equal((await workOnce()).id, crashed.messageId)
    assert.equal(status(), 'COMPLETED')
  })
})
