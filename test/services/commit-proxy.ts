/**
 * A TCP proxy that reads enough of Postgres's protocol to see when a client commits, and fails just then: the
 * connection is lost before the commit reaches the server, or after it and before the reply; the server ends the
 * connection instead of replying; or it refuses the commit. A statement that writes outside of a transaction is a
 * commit too. It can also change statements on their way.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { query } from './query.ts'

export const commitFaults = [
  'cut before',
  'cut after',
  'terminated',
  'conflict',
  'refused',
] as const
export type CommitFault = (typeof commitFaults)[number]

/** The errors with which the server refuses a commit. */
const errorCodes = { conflict: '40001', refused: '58030' } as const

/** A row in this table makes its transaction fail at the commit, with the error that it names. */
const refusals = `
  CREATE SCHEMA commit_fault;
  CREATE TABLE commit_fault.refusal (code text);
  CREATE FUNCTION commit_fault.refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the commit is refused' USING ERRCODE = NEW.code; END $$;
  CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON commit_fault.refusal
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION commit_fault.refuse();`

/** Prepares a database for a proxy in front of it. */
export async function prepareForCommitFaults(url: string): Promise<void> {
  await query(url, refusals)
}

export async function startCommitProxy(targetPort: number): Promise<CommitProxy> {
  const proxy = new CommitProxy(targetPort)
  await proxy.listen()
  return proxy
}

export class CommitProxy {
  /** Decides what each commit meets. */
  choose: () => CommitFault | undefined = () => undefined
  /** Changes the text of each statement. */
  rewrite: (text: string) => string = (text) => text
  /** How often each fault was met. */
  readonly met: Record<CommitFault, number> = {
    'cut before': 0,
    'cut after': 0,
    terminated: 0,
    conflict: 0,
    refused: 0,
  }
  readonly #targetPort: number
  readonly #server = createServer((client) => this.#connect(client))
  readonly #connections = new Set<ProxiedConnection>()

  constructor(targetPort: number) {
    this.#targetPort = targetPort
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  /** The same URL through the proxy. */
  url(target: string): string {
    const url = new URL(target)
    const { port } = this.#server.address() as AddressInfo
    url.host = `127.0.0.1:${port}`
    return url.href
  }

  /** The next commit meets this fault. Returns whether it has been met. */
  faultNext(fault: CommitFault): () => boolean {
    const before = this.met[fault]
    this.choose = () => {
      this.choose = () => undefined
      return fault
    }
    return () => this.met[fault] > before
  }

  close(): void {
    this.#server.close()
    for (const connection of this.#connections) connection.destroy()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #terminate(pid: number): void {
    const url = `postgres://postgres@127.0.0.1:${this.#targetPort}/postgres`
    // The server may be gone itself.
    query(url, `SELECT pg_terminate_backend(${pid})`).catch(() => undefined)
  }

  #connect(client: Socket): void {
    const server = connect({ port: this.#targetPort, host: '127.0.0.1' })
    const connection = new ProxiedConnection({
      client,
      server,
      onCommit: () => {
        const fault = this.choose()
        if (fault !== undefined) this.met[fault] += 1
        return fault
      },
      rewrite: (text) => this.rewrite(text),
      terminate: (pid) => this.#terminate(pid),
    })
    this.#connections.add(connection)
    client.once('close', () => this.#connections.delete(connection))
  }
}

interface ConnectionOptions {
  readonly client: Socket
  readonly server: Socket
  readonly onCommit: () => CommitFault | undefined
  readonly rewrite: (text: string) => string
  /** Lets the server end the connection that this process of it serves. */
  readonly terminate: (pid: number) => void
}

/** What is done with the reply to a request. */
type Reply = 'pass' | 'drop' | 'cut' | 'terminate'

const types = { query: 'Q', parse: 'P', bind: 'B', sync: 'S', ready: 'Z', key: 'K' } as const

const replies: Partial<Record<CommitFault, Reply>> = { 'cut after': 'cut', terminated: 'terminate' }

class ProxiedConnection {
  readonly #options: ConnectionOptions
  readonly #requests = new Frames({ hasStartup: true })
  readonly #responses = new Frames({ hasStartup: false })
  /** Prepared statements by name. */
  readonly #prepared = new Map<string, string>()
  /** Of the requests that are not answered yet; the first is that of the start. */
  readonly #replies: Reply[] = ['pass']
  /** Frames and texts up to the next sync, which the server answers together. */
  #frames: Buffer[] = []
  #texts: string[] = []
  #isInTransaction = false
  #pid = 0

  constructor(options: ConnectionOptions) {
    this.#options = options
    const { client, server } = options
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      // One side never outlives the other.
      socket.once('close', () => this.destroy())
      socket.on('error', () => {})
    }
    client.on('data', (bytes: Buffer) => {
      for (const frame of this.#requests.next(bytes)) this.#request(frame)
    })
    server.on('data', (bytes: Buffer) => {
      for (const frame of this.#responses.next(bytes)) this.#response(frame)
    })
  }

  destroy(): void {
    this.#options.client.destroy()
    this.#options.server.destroy()
  }

  #request(given: Frame): void {
    const frame = this.#rewritten(given)
    this.#frames.push(frame.bytes)
    if (frame.type === types.query) this.#texts.push(frame.texts(1)[0] ?? '')
    if (frame.type === types.parse) {
      const [name = '', text = ''] = frame.texts(2)
      this.#prepared.set(name, text)
    }
    if (frame.type === types.bind) {
      const [, name = ''] = frame.texts(2)
      this.#texts.push(this.#prepared.get(name) ?? '')
    }
    const isAnswered = frame.type === types.query || frame.type === types.sync
    if (isAnswered) this.#forward()
    else if (this.#texts.length === 0 && frame.type !== types.parse) this.#send()
  }

  #rewritten(frame: Frame): Frame {
    if (frame.type !== types.query && frame.type !== types.parse) return frame
    const place = frame.type === types.query ? 0 : 1
    const texts = frame.texts(place + 1)
    const text = texts[place] ?? ''
    const changed = this.#options.rewrite(text)
    return changed === text ? frame : frame.withText(place, changed)
  }

  /** Forwards what is answered together, or lets it meet a fault. */
  #forward(): void {
    const text = this.#texts.join(';')
    const wasInTransaction = this.#isInTransaction
    if (begins.test(text)) this.#isInTransaction = true
    if (ends.test(text)) this.#isInTransaction = false
    const isCommit = commits.test(text) || (!this.#isInTransaction && writes.test(text))
    const fault = isCommit ? this.#options.onCommit() : undefined
    if (fault === 'cut before') {
      this.destroy()
      return
    }
    if (fault === 'conflict' || fault === 'refused') {
      const code = errorCodes[fault]
      if (wasInTransaction) this.#inject(`INSERT INTO commit_fault.refusal VALUES ('${code}')`)
      else {
        const raise = `RAISE EXCEPTION 'the commit is refused' USING ERRCODE = '${code}'`
        this.#frames = [queryFrame(`DO $$ BEGIN ${raise}; END $$`)]
      }
    }
    this.#replies.push((fault && replies[fault]) ?? 'pass')
    this.#send()
  }

  /** A request of the proxy, whose reply the client does not see. */
  #inject(text: string): void {
    this.#replies.push('drop')
    this.#options.server.write(queryFrame(text))
  }

  #send(): void {
    for (const frame of this.#frames) this.#options.server.write(frame)
    this.#frames = []
    this.#texts = []
  }

  #response(frame: Frame): void {
    if (frame.type === types.key) this.#pid = frame.bytes.readInt32BE(5)
    const [reply = 'pass'] = this.#replies
    const isEnd = frame.type === types.ready
    if (isEnd) this.#replies.shift()
    if (reply === 'pass') this.#options.client.write(frame.bytes)
    if (reply === 'cut' && isEnd) this.destroy()
    if (reply === 'terminate' && isEnd) this.#options.terminate(this.#pid)
  }
}

const begins = /(?:^|;)\s*(?:BEGIN|START TRANSACTION)\b/i
const ends = /(?:^|;)\s*(?:COMMIT|END|ROLLBACK)\s*(?:;|$)/i
const commits = /(?:^|;)\s*(?:COMMIT|END)\s*(?:;|$)/i
// A quoted word is the name of a right.
const writes = /(?<!FOR |FOR NO KEY |')\b(?:INSERT|UPDATE|DELETE|nextval)\b/

/** A message of the protocol: a letter, the length of the rest, and the rest. */
class Frame {
  readonly bytes: Buffer
  readonly type: string

  constructor(bytes: Buffer, type: string) {
    this.bytes = bytes
    this.type = type
  }

  /** The first texts of its content, each of which ends with a zero. */
  texts(count: number): readonly string[] {
    const texts: string[] = []
    for (let from = 5; texts.length < count; ) {
      const to = this.bytes.indexOf(0, from)
      texts.push(this.bytes.toString('utf8', from, to))
      from = to + 1
    }
    return texts
  }

  /** The same with another text at this place. */
  withText(place: number, text: string): Frame {
    let from = 5
    for (let passed = 0; passed < place; passed += 1) from = this.bytes.indexOf(0, from) + 1
    const rest = this.bytes.subarray(this.bytes.indexOf(0, from))
    const bytes = Buffer.concat([this.bytes.subarray(0, from), Buffer.from(text), rest])
    bytes.writeUInt32BE(bytes.length - 1, 1)
    return new Frame(bytes, this.type)
  }
}

class Frames {
  /** The first message of a client has no letter. */
  #hasLetter: boolean
  #rest: Buffer = Buffer.alloc(0)

  constructor({ hasStartup }: { readonly hasStartup: boolean }) {
    this.#hasLetter = !hasStartup
  }

  *next(bytes: Buffer): Generator<Frame> {
    this.#rest = Buffer.concat([this.#rest, bytes])
    for (;;) {
      const lengthAt = this.#hasLetter ? 1 : 0
      if (this.#rest.length < lengthAt + 4) return
      const end = lengthAt + this.#rest.readUInt32BE(lengthAt)
      if (this.#rest.length < end) return
      const frame = this.#rest.subarray(0, end)
      this.#rest = this.#rest.subarray(end)
      const type = this.#hasLetter ? String.fromCharCode(frame[0] ?? 0) : ''
      this.#hasLetter = true
      yield new Frame(frame, type)
    }
  }
}

function queryFrame(text: string): Buffer {
  const content = Buffer.from(`${text}\0`)
  const frame = Buffer.alloc(5 + content.length)
  frame.write(types.query)
  frame.writeUInt32BE(4 + content.length, 1)
  content.copy(frame, 5)
  return frame
}
