/** Stands for Claude on this machine: it groups what stands under one heading. */
import { MessagesApiServer } from '../../shared/messages-api/messages-api-server.ts'
import { type MessagesRequest, textOf } from '../../shared/messages-api/messages-request.ts'

export class ClaudeStandIn extends MessagesApiServer {
  /** As long as a unit has these words, the answer is not in the form that was asked for. */
  confusedBy: string | undefined

  static start(port = 0): Promise<ClaudeStandIn> {
    const standIn: ClaudeStandIn = new ClaudeStandIn({
      port,
      judge: (request) => standIn.#judge(request),
    })
    return standIn.listening()
  }

  #judge(request: MessagesRequest): { readonly input: object; readonly text: string } {
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
