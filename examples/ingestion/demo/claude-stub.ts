/** A stub of Claude on this machine. It groups the atoms under each heading. */
import { setTimeout as pause } from 'node:timers/promises'
import { MessagesApiServer, type StubReply } from '../../shared/messages-api/messages-api-server.ts'
import { type MessagesRequest, textOf } from '../../shared/messages-api/messages-request.ts'

/** A delay, so that requests overlap. */
const thinkingMs = 20

export class ClaudeStub extends MessagesApiServer {
  /** While set, units that contain this text get an answer that does not fit the schema. */
  confusedBy: string | undefined
  #running = 0
  #mostAtOnce = 0

  static start(port = 0): Promise<ClaudeStub> {
    const stub: ClaudeStub = new ClaudeStub({
      port,
      reply: (request) => stub.#reply(request),
    })
    return stub.listening()
  }

  /** The highest number of simultaneous requests so far. */
  get mostAtOnce(): number {
    return this.#mostAtOnce
  }

  async #reply(request: MessagesRequest): Promise<StubReply> {
    this.#running += 1
    this.#mostAtOnce = Math.max(this.#mostAtOnce, this.#running)
    await pause(thinkingMs)
    this.#running -= 1
    const unit = textOf(request)
    const isConfused = this.confusedBy !== undefined && unit.includes(this.confusedBy)
    if (isConfused) return { input: { groupings: 'I do not know.' }, text: '' }
    return { input: { groupings: groupingsOf(unit) }, text: '' }
  }
}

interface GroupingInput {
  readonly atoms: number[]
  readonly title: string
  readonly confidence: number
}

function groupingsOf(unit: string): readonly GroupingInput[] {
  const groupings: GroupingInput[] = []
  for (const line of unit.split('\n')) {
    const [, number, kind, text = ''] = /^\[(\d+)\] (\w+): (.*)$/.exec(line) ?? []
    if (number === undefined) continue
    const last = groupings.at(-1)
    if (last === undefined || kind === 'heading') {
      groupings.push({ atoms: [Number(number)], title: text.slice(0, 60), confidence: 0.9 })
    } else {
      last.atoms.push(Number(number))
    }
  }
  return groupings
}
