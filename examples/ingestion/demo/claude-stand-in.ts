/** Stands for Claude on this machine: it groups what stands under one heading. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Judgement, MessagesApiServer } from '../../shared/messages-api/messages-api-server.ts'
import { type MessagesRequest, textOf } from '../../shared/messages-api/messages-request.ts'

/** A model takes its time, so that requests meet. */
const thinkingMs = 20

export class ClaudeStandIn extends MessagesApiServer {
  /** As long as a unit has these words, the answer is not in the form that was asked for. */
  confusedBy: string | undefined
  #running = 0
  #mostAtOnce = 0

  static start(port = 0): Promise<ClaudeStandIn> {
    const standIn: ClaudeStandIn = new ClaudeStandIn({
      port,
      judge: (request) => standIn.#judge(request),
    })
    return standIn.listening()
  }

  /** How many requests it had at once, at the most. */
  get mostAtOnce(): number {
    return this.#mostAtOnce
  }

  async #judge(request: MessagesRequest): Promise<Judgement> {
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
