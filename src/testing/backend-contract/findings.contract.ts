import assert from 'node:assert/strict'
import type {
  Finding,
  FindingStore,
  NewFinding,
  NoteFindings,
} from '../../backends/finding-store.ts'
import { minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

/** A backend that keeps jobs has something that can be stuck. */
export function describeFindings(all: ContractSuite): void {
  const suite = all.needing('trackedJobs')
  suite.describe('what the janitor finds', () => describeNoting(suite))
}

function findingsOf({ backend }: Scene): FindingStore {
  assert.ok(backend.findings !== null)
  return backend.findings
}

const found = (id: string): NewFinding => ({ place: 'q', id, type: 'OCR', since: 7 })

function note(
  scene: Scene,
  ids: readonly string[],
  changes: Partial<NoteFindings> = {},
): Promise<readonly Finding[]> {
  return findingsOf(scene).note({
    ...{ scope: 'academy/dev', kind: 'stuck_pending', found: ids.map(found) },
    ...{ isPartial: false, confirmAfterMs: 30 * second, ...changes },
  })
}

async function noted(
  scene: Scene,
  ids: readonly string[],
  changes: Partial<NoteFindings> = {},
): Promise<readonly string[]> {
  return (await note(scene, ids, changes)).map(({ id }) => id)
}

function describeNoting(suite: ContractSuite): void {
  suite.test('is reported when a later look finds it too, and once', async (scene) => {
    assert.deepEqual(await noted(scene, ['a']), [])
    await scene.advance(20 * second)
    assert.deepEqual(await noted(scene, ['a', 'b']), [])
    await scene.advance(10 * second)
    assert.deepEqual(await note(scene, ['a', 'b']), [
      { scope: 'academy/dev', kind: 'stuck_pending', ...found('a') },
    ])
    await scene.advance(minute)
    assert.deepEqual(await noted(scene, ['a', 'b']), ['b'])
    assert.deepEqual(await noted(scene, ['a', 'b']), [])
  })

  suite.test('is reported to one of those who find it at the same time', async (scene) => {
    const looks = Array.from({ length: 5 }, () => noted(scene, ['a'], { confirmAfterMs: 0 }))
    assert.deepEqual((await Promise.all(looks)).flat(), ['a'])
  })

  suite.test('is removed when it is gone, and reported when it returns', async (scene) => {
    const atOnce = { confirmAfterMs: 0 }
    assert.deepEqual(await noted(scene, ['a'], atOnce), ['a'])
    assert.equal(only(await findingsOf(scene).list({ limit: 10 })).id, 'a')
    await noted(scene, [], atOnce)
    assert.deepEqual(await findingsOf(scene).list({ limit: 10 }), [])
    assert.deepEqual(await noted(scene, ['a'], atOnce), ['a'])
  })

  suite.test('is kept for ten minutes when a look may have left it out', async (scene) => {
    const partial = { confirmAfterMs: 0, isPartial: true }
    await noted(scene, ['a'], partial)
    await scene.advance(9 * minute)
    await noted(scene, ['b'], partial)
    assert.equal((await findingsOf(scene).list({ limit: 10 })).length, 2)
    await scene.advance(minute)
    await noted(scene, [], partial)
    assert.equal(only(await findingsOf(scene).list({ limit: 10 })).id, 'b')
  })

  suite.needing('reopen').test('is not reported again after a restart', async (scene) => {
    await noted(scene, ['a'], { confirmAfterMs: 0 })
    await scene.reopen()
    assert.deepEqual(await noted(scene, ['a'], { confirmAfterMs: 0 }), [])
  })

  suite.test('belongs to one app and one kind', async (scene) => {
    const atOnce = { confirmAfterMs: 0 }
    await noted(scene, ['a'], atOnce)
    assert.deepEqual(await noted(scene, ['a'], { ...atOnce, scope: 'academy/prod' }), ['a'])
    assert.deepEqual(await noted(scene, ['a'], { ...atOnce, kind: 'overdue_flow' }), ['a'])
    await noted(scene, [], { ...atOnce, kind: 'overdue_flow' })
    const kinds = (await findingsOf(scene).list({ scope: 'academy/dev', limit: 10 })).map(
      ({ kind }) => kind,
    )
    assert.deepEqual(kinds, ['stuck_pending'])
    const listed = await findingsOf(scene).list({ kind: 'stuck_pending', limit: 1 })
    assert.equal(listed.length, 1)
  })

  suite.test('begins when it was noted, unless the caller gives a time', async (scene) => {
    const unknown = { place: 'q', id: 'a', type: null }
    const changes = { found: [unknown], confirmAfterMs: 0 }
    const before = await findingsOf(scene).note({
      ...{ scope: '', kind: 'stuck_collector_key', isPartial: true, ...changes },
    })
    assert.ok(only(before).since > 0)
  })

  suite.test('is refused without sense', async (scene) => {
    // @ts-expect-error this kind does not exist
    await rejects(note(scene, [], { kind: 'lost' }), 'invalid_argument')
    await rejects(note(scene, [], { confirmAfterMs: -1 }), 'invalid_argument')
    await rejects(findingsOf(scene).list({ limit: 0 }), 'invalid_argument')
  })
}
