/**
 * Engine and model choose their own ids, receipts, sequence numbers and tokens. This learns which
 * name of the one stands for which of the other, and notices when the two disagree.
 */
import assert from 'node:assert/strict'
import { MillraceError } from '../../src/core/millrace-error.ts'

const namedKeys = ['id', 'sequence', 'token', 'receipt'] as const
type NamedKey = (typeof namedKeys)[number]
type Name = string | number

export class Naming {
  readonly #toModel = new Map<string, Name>()
  readonly #toEngine = new Map<string, Name>()

  /** Fails unless the answers are equal but for names, and the names fit all that was seen before. */
  compare(engine: unknown, model: unknown): void {
    this.#learn(engine, model)
    assert.deepEqual(this.#translate(engine), plain(model))
  }

  #learn(engine: unknown, model: unknown): void {
    if (!isObject(engine) || !isObject(model) || engine instanceof MillraceError) return
    for (const key of namedKeys) {
      const [engineName, modelName] = [engine[key], model[key]]
      if (isName(engineName) && isName(modelName)) this.#bind(key, engineName, modelName)
    }
    for (const [key, value] of Object.entries(engine)) this.#learn(value, model[key])
  }

  #bind(key: NamedKey, engineName: Name, modelName: Name): void {
    const seenModel = this.#toModel.get(`${key} ${engineName}`)
    const seenEngine = this.#toEngine.get(`${key} ${modelName}`)
    if (seenModel === undefined && seenEngine === undefined) {
      this.#toModel.set(`${key} ${engineName}`, modelName)
      this.#toEngine.set(`${key} ${modelName}`, engineName)
      return
    }
    assert.equal(seenModel, modelName, `another ${key} than before`)
    assert.equal(seenEngine, engineName, `another ${key} than before`)
  }

  /** The engine's answer in the words of the model. */
  #translate(value: unknown, key = ''): unknown {
    if (isName(value)) {
      // A dead letter of a FIFO queue has its own id as deduplication id.
      const lookUp = key === 'deduplicationId' ? 'id' : key
      return this.#toModel.get(`${lookUp} ${value}`) ?? value
    }
    if (value instanceof MillraceError) return value.code
    if (Array.isArray(value)) return value.map((item) => this.#translate(item))
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, this.#translate(item, name)]),
    )
  }
}

/** Errors by their code, objects without their prototypes. */
function plain(value: unknown): unknown {
  if (value instanceof MillraceError) return value.code
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isName(value: unknown): value is Name {
  return typeof value === 'string' || typeof value === 'number'
}
