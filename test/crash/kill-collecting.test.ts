/** Scenarios 41 and 42: messages arrive while their batch runs, and holders die with the key in hand. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type Mill, open } from '../../src/index.ts'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { ChildProgram } from '../support/child-program.ts'
import { seed } from '../support/seed.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { type MergeMessage, talksApp } from './talks.ts'
import { sharedMs } from './workshop.ts'

const talks = 150
const messagesPerTalk = 12
/** Merges that begin between two kills. */
const mergesPerKill = 60

type Talks = ReturnType<typeof talksApp>

interface Merge {
  readonly talk: string
  readonly beganMs: number
  endedMs?: number
}

/** What was heard of merges in all processes. */
class Merges {
  readonly all: Merge[] = []
  readonly #waiting = new Set<() => void>()

  add(merge: Merge): void {
    this.all.push(merge)
    this.stir()
  }

  /** Lets everybody who waits look again. */
  stir(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }
}

describe(`two processes that merge, of which one is killed again and again (MILLRACE_SEED=${seed})`, () => {
  test('merge every message once, in order, and never two batches of a talk at once', () =>
    inTemporaryFolder('kill-collecting', async (folder) => {
      const mill = await open(talksApp(noMerge, noTime), { data: folder.path })
      const merges = new Merges()
      try {
        const kills = await collectWithKills(mill, folder.path, merges)
        assert.ok(kills >= 5, `there were only ${kills} kills`)
        const { items } = await mill.collectors.talks.list()
        assert.deepEqual(items, [])
        const { ready, leased, delayed } = await mill.queues.delay.statistics()
        assert.deepEqual([ready, leased, delayed], [0, 0, 0])
      } finally {
        await mill.close()
      }
      assertOneAtATime(merges.all)
      assertSoundStore(folder.file('millrace.db'))
    }))
})

const noMerge = (): void => assert.fail('this process merges nothing')
const noTime = async (): Promise<void> => undefined

/** Sends everything while two workers run, and kills; the answer is how often. */
async function collectWithKills(mill: Mill<Talks>, data: string, merges: Merges): Promise<number> {
  const randomness = seededRandomness(seed)
  const workers = [new MergeWorker(data, merges), new MergeWorker(data, merges)]
  const sending = sendAll(mill, merges, randomness.next)
  const reading = readAll(mill)
  let kills = 0
  let isDone = false
  const end = (): void => {
    isDone = true
    merges.stir()
  }
  Promise.all([sending, reading]).then(end, end)
  try {
    for (let next = mergesPerKill; !isDone; next += mergesPerKill) {
      await merges.until(() => isDone || merges.all.length >= next)
      if (isDone) break
      const index = Math.floor(randomness.next() * 2)
      await workers[index]?.kill()
      workers[index] = new MergeWorker(data, merges)
      kills += 1
    }
    await sending
    await reading
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()))
  }
  return kills
}

class MergeWorker {
  readonly #child: ChildProgram
  readonly #running = new Map<string, Merge>()

  constructor(data: string, merges: Merges) {
    this.#child = new ChildProgram(new URL('./talks.child.ts', import.meta.url), { data })
    this.#child.follow<MergeMessage>(({ kind, talk, atMs }) => {
      if (kind === 'began') {
        const merge = { talk, beganMs: atMs }
        merges.add(merge)
        this.#running.set(talk, merge)
      } else if (kind === 'ended') {
        const merge = this.#running.get(talk)
        if (merge !== undefined) merge.endedMs = atMs
        this.#running.delete(talk)
      }
    })
  }

  async kill(): Promise<void> {
    await this.#child.kill()
    for (const merge of this.#running.values()) merge.endedMs = sharedMs()
  }

  async stop(): Promise<void> {
    this.#child.terminate()
    await this.#child.gone()
  }
}

/** In random order, a few at a time, while others are merged; one in ten is sent twice. */
async function sendAll(
  { collectors }: Mill<Talks>,
  merges: Merges,
  chance: () => number,
): Promise<void> {
  const said = Array.from({ length: talks * messagesPerTalk }, (_, index) => ({
    talk: `talk-${index % talks}`,
    at: Math.floor(index / talks),
    place: chance(),
  })).toSorted((one, other) => one.place - other.place)
  for (let from = 0; from < said.length; from += 50) {
    await Promise.all(
      said.slice(from, from + 50).map(async ({ talk, at, place }) => {
        const { status } = await collectors.talks.add({ talk, at })
        assert.equal(status, 'staged')
        if (place * 1_000 - Math.floor(place * 1_000) > 0.1) return
        assert.equal((await collectors.talks.add({ talk, at })).status, 'duplicate')
      }),
    )
    await merges.until(() => merges.all.length >= from / 50)
  }
}

/** Receives what was merged until all of it has come, and checks that each came once and in order. */
async function readAll({ queues }: Mill<Talks>): Promise<void> {
  const seen = new Set<string>()
  while (seen.size < talks * messagesPerTalk) {
    for (const delivery of await queues.merged.receive({ max: 100, wait: '1s' })) {
      const { talk, at } = delivery.message
      assert.deepEqual(
        at,
        at.toSorted((one, other) => one - other),
      )
      for (const one of at) {
        const name = `${talk} ${one}`
        assert.ok(!seen.has(name), `J4: ${name} was merged twice`)
        seen.add(name)
      }
      await delivery.acknowledge()
    }
  }
}

function assertOneAtATime(merges: readonly Merge[]): void {
  const byTalk = Map.groupBy(merges, ({ talk }) => talk)
  for (const [talk, ofTalk] of byTalk) {
    const inOrder = ofTalk.toSorted((one, other) => one.beganMs - other.beganMs)
    for (const [index, { endedMs = Number.POSITIVE_INFINITY }] of inOrder.entries()) {
      const next = inOrder[index + 1]
      if (next === undefined) continue
      assert.ok(endedMs <= next.beganMs, `J4: two batches of ${talk} at once`)
    }
  }
}
