/** Which parts of a request are content, and how each of them is sealed. */
import { hash } from 'node:crypto'
import type {
  Emitted,
  EmittedJob,
  EmittedMessage,
  Outcome,
  Settlement,
} from '../backends/backend.ts'
import type { AddItems } from '../backends/collector-store.ts'
import type { MarkUnits, NewUnit, OpenFlow } from '../backends/flow-store.ts'
import type { NewJob } from '../backends/job-store.ts'
import { encodeAttributes } from '../backends/message-attributes.ts'
import { canonicalJson } from '../core/canonical-json.ts'
import { isContentValid, messageBytes } from '../core/check-message.ts'
import type { ErrorDetails, Failure } from '../core/failure.ts'
import type { LogLine } from '../core/log-line.ts'
import type { NewMessage } from '../core/message.ts'
import type { Cipher } from './cipher.ts'

/** The system attribute that holds all attributes of a sealed message. */
export const sealedAttributes = 'millrace.sealedAttributes'

export class Sealer {
  readonly #cipher: Cipher

  constructor(cipher: Cipher) {
    this.#cipher = cipher
  }

  text(text: string): string {
    return this.#cipher.seal(text)
  }

  optional(text: string | undefined): string | undefined {
    return text === undefined ? undefined : this.#cipher.seal(text)
  }

  message(message: NewMessage): NewMessage {
    // The store refuses it, with the same error as one without a key.
    if (!isContentValid(message)) return message
    const { body } = message
    const isComparedByContent = message.group !== undefined && message.deduplicationId === undefined
    return {
      ...this.#withAttributes(message),
      body: this.text(body),
      sealed: {
        bytes: messageBytes(message),
        fingerprints: isComparedByContent ? this.#cipher.fingerprints(body) : [],
      },
    }
  }

  job(job: NewJob): NewJob {
    const { payload, attributes, idempotency, tenant, deduplicationId } = job
    const message = { body: payload, ...(attributes && { attributes }) }
    if (!isContentValid(message)) return job
    const isCompared =
      idempotency !== undefined || (tenant !== undefined && deduplicationId === undefined)
    const fingerprints = isCompared ? this.#fingerprintsOf(payload) : []
    const sealed = { bytes: messageBytes(message), fingerprints }
    return { ...this.#withAttributes(job), payload: this.text(payload), sealed }
  }

  /** All attributes become one sealed text. */
  #withAttributes<Content extends Pick<NewMessage, 'attributes' | 'systemAttributes'>>(
    content: Content,
  ): Content {
    if (content.attributes === undefined) return content
    const { attributes, ...others } = content
    const text = this.text(encodeAttributes({ body: '', attributes }) ?? '')
    const systemAttributes = { ...content.systemAttributes, [sealedAttributes]: text }
    return { ...(others as Content), systemAttributes }
  }

  /** The last one recognises jobs that were enqueued before the store had a key. */
  #fingerprintsOf(payload: string): readonly string[] {
    const canonical = canonicalJson(payload)
    return [...this.#cipher.fingerprints(canonical), hash('sha256', canonical, 'base64')]
  }

  emittedMessage = ({ queue, message }: EmittedMessage): EmittedMessage => ({
    queue,
    message: this.message(message),
  })

  emittedJob = ({ queue, job }: EmittedJob): EmittedJob => ({ queue, job: this.job(job) })

  emitted(emitted: Emitted): Emitted {
    return 'job' in emitted ? this.emittedJob(emitted) : this.emittedMessage(emitted)
  }

  /** Work that a flow keeps until it is due. It is stored as it is here, so nothing in it may tell the content. */
  kept(emitted: Emitted): Emitted {
    const sealed = this.emitted(emitted)
    if ('job' in sealed) {
      return { ...sealed, job: { ...sealed.job, ...withoutFingerprints(sealed.job) } }
    }
    return { ...sealed, message: { ...sealed.message, ...withoutFingerprints(sealed.message) } }
  }

  units(units: readonly NewUnit[]): readonly NewUnit[] {
    return units.map(({ work, ...unit }) => ({ ...unit, ...(work && { work: this.kept(work) }) }))
  }

  flow<Flow extends OpenFlow>(flow: Flow): Flow {
    const { units, finalize, failed, data } = flow
    return {
      ...flow,
      units: this.units(units),
      ...(finalize && { finalize: this.kept(finalize) }),
      ...(failed && { failed: this.kept(failed) }),
      ...(data !== undefined && { data: this.text(data) }),
    }
  }

  work<Request extends { readonly work?: Emitted }>(request: Request): Request {
    return request.work === undefined ? request : { ...request, work: this.kept(request.work) }
  }

  marks(request: MarkUnits): MarkUnits {
    const marks = request.marks.map((mark) =>
      mark.reason === undefined ? mark : { ...mark, reason: this.text(mark.reason) },
    )
    return { ...request, marks }
  }

  /** Triggers name a key, which is not content. */
  items(request: AddItems): AddItems {
    const items = request.items.map((item) => ({
      ...item,
      body: this.text(item.body),
      bytes: Buffer.byteLength(item.body),
    }))
    return { ...request, items }
  }

  settlement(settlement: Settlement): Settlement {
    const { outcome, emits, jobs, flows, marks, starts, items } = settlement
    return {
      ...this.logged(settlement),
      outcome: this.#outcome(outcome),
      ...(emits && { emits: emits.map(this.emittedMessage) }),
      ...(jobs && { jobs: jobs.map(this.emittedJob) }),
      ...(flows && { flows: flows.map((flow) => this.flow(flow)) }),
      ...(marks && { marks: marks.map((request) => this.marks(request)) }),
      ...(starts && { starts: starts.map((request) => this.work(request)) }),
      ...(items && { items: items.map((request) => this.items(request)) }),
    }
  }

  logged<Request extends { readonly logs?: readonly LogLine[] }>(request: Request): Request {
    const { logs } = request
    return logs === undefined ? request : { ...request, logs: logs.map(this.#line) }
  }

  #line = (line: LogLine): LogLine => {
    const fields = Object.entries(line.fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? this.text(value) : value,
    ])
    return { ...line, message: this.text(line.message), fields: Object.fromEntries(fields) }
  }

  #failed<Failed extends { readonly failure?: Failure }>(outcome: Failed): Failed {
    const { failure } = outcome
    if (failure === undefined) return outcome
    const causes = failure.causes.map((cause) => this.#details(cause))
    return { ...outcome, failure: { ...this.#details(failure), causes } }
  }

  #details(details: ErrorDetails): ErrorDetails {
    return { ...details, message: this.text(details.message), stack: this.text(details.stack) }
  }

  #outcome(outcome: Outcome): Outcome {
    switch (outcome.kind) {
      case 'acknowledge':
        return outcome.result === undefined
          ? outcome
          : { ...outcome, result: this.text(outcome.result) }
      case 'retry':
        return {
          ...this.#failed(outcome),
          ...(outcome.error !== undefined && { error: this.text(outcome.error) }),
        }
      case 'deadLetter':
        return { ...this.#failed(outcome), reason: this.text(outcome.reason) }
      case 'release':
        return outcome
    }
  }
}

function withoutFingerprints({ sealed }: Pick<NewMessage, 'sealed'>): Pick<NewMessage, 'sealed'> {
  return sealed === undefined ? {} : { sealed: { ...sealed, fingerprints: [] } }
}
