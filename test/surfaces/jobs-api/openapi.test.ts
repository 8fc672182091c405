import assert from 'node:assert/strict'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp, jobs } from '../../../src/index.ts'
import { keys, type Scene, serveAcademy } from './scene.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document of any form, looked at by assertions
type Document = any

async function documentOf(scene: Scene, key?: string): Promise<Document> {
  const { status, body } = await scene.call('/openapi.json', key === undefined ? {} : { key })
  assert.equal(status, 200)
  return body
}

/** Every `$ref` in a document. */
function referencesIn(node: unknown): readonly string[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([key, value]) =>
    key === '$ref' && typeof value === 'string' ? [value] : referencesIn(value),
  )
}

describe('the OpenAPI document', () => {
  test('is whole: every reference leads somewhere, every operation has a name and answers', async () => {
    const document = await documentOf(await serveAcademy(), keys.admin)
    assert.match(document.openapi, /^3\.1\./)
    assert.equal(document.info.title, 'Millrace')
    for (const reference of referencesIn(document)) {
      const [, name = ''] = /^#\/components\/schemas\/(.+)$/.exec(reference) ?? []
      assert.ok(name in document.components.schemas, reference)
    }
    for (const name of Object.keys(document.components.schemas)) assert.match(name, /^[\w.-]+$/)
    const ids = new Set<string>()
    for (const [path, methods] of Object.entries<Document>(document.paths)) {
      for (const [method, operation] of Object.entries<Document>(methods)) {
        const place = `${method} ${path}`
        assert.ok(operation.summary, place)
        assert.ok(!ids.has(operation.operationId), place)
        ids.add(operation.operationId)
        const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
        const given = (operation.parameters ?? [])
          .filter((parameter: Document) => parameter.in === 'path')
          .map((parameter: Document) => parameter.name)
        assert.deepEqual(given, named, place)
        assert.ok(Object.keys(operation.responses).every((status) => /^[2-5]\d\d$/.test(status)))
        for (const answer of Object.values<Document>(operation.responses)) {
          assert.equal(typeof answer.description, 'string', place)
        }
      }
    }
  })

  test('has the payloads of the declared types', async () => {
    const document = await documentOf(await serveAcademy(), keys.internal)
    const { schemas } = document.components
    assert.deepEqual(schemas.Queue.enum, ['basic', 'mail'])
    const ocr = schemas['NewJob.basic.OCR'].properties
    assert.equal(ocr.type.const, 'OCR')
    assert.equal(ocr.payload.properties.examId.type, 'string')
    assert.deepEqual(ocr.payload.required, ['examId'])
  })

  test('tells users only of what they may use', async () => {
    const scene = await serveAcademy({ userQueues: ['mail'] })
    const document = await documentOf(scene, keys.alice)
    assert.deepEqual(document.components.schemas.Queue.enum, ['mail'])
    assert.ok(!JSON.stringify(document).includes('examId'))
    const { properties, required } = document.components.schemas['NewJob.mail.SEND']
    assert.deepEqual(Object.keys(properties).sort(), ['idempotency_key', 'payload', 'type'])
    assert.deepEqual(required, ['payload'])
  })

  test('describes an answer that the server really gives', async () => {
    const scene = await serveAcademy()
    const id = await scene.enqueue()
    const document = await documentOf(scene, keys.admin)
    const { Job, Problem } = document.components.schemas
    const { body: job } = await scene.call(`/jobs/${id}`, { key: keys.admin })
    assert.deepEqual(Object.keys(job).sort(), Object.keys(Job.properties).sort())
    const { body: problem } = await scene.call('/jobs/x', { key: keys.admin })
    for (const field of Problem.required) assert.ok(field in problem, field)
  })

  test('takes any library, and leaves open what it cannot tell', async () => {
    interface Tree {
      readonly children: readonly Tree[]
    }
    const tree: z.ZodType<Tree> = z.object({ children: z.lazy(() => z.array(tree)) })
    const app = defineApp('mixed', {
      queues: {
        todo: jobs({
          types: {
            'a b/c': z.object({ n: z.string().transform(Number) }),
            TREE: tree,
            MAP: z.map(z.string(), z.number()),
            'a b_c': z.object({ m: z.string() }),
            ARK: type({ n: 'number' }),
            VAL: v.object({ n: v.number() }),
          },
        }),
      },
    })
    const document = await documentOf(await serveAcademy({ app }), keys.admin)
    const { schemas } = document.components
    assert.equal(schemas['NewJob.todo.a_b_c'].properties.payload.properties.n.type, 'string')
    assert.equal(schemas['NewJob.todo.a_b_c_3'].properties.payload.properties.m.type, 'string')
    assert.deepEqual(schemas['NewJob.todo.TREE'].properties.payload, {})
    assert.deepEqual(schemas['NewJob.todo.MAP'].properties.payload, {})
    assert.equal(typeof schemas['NewJob.todo.ARK'].properties.payload, 'object')
    assert.deepEqual(schemas['NewJob.todo.VAL'].properties.payload, {})
    assert.equal(schemas.NewJob.anyOf.length, 6)
  })
})
