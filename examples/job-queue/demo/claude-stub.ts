/** A stub of Claude on this machine, which returns the offline provider's text in the requested schema. */
import { MessagesApiServer } from '../../shared/messages-api/messages-api-server.ts'
import { type MessagesRequest, textOf } from '../../shared/messages-api/messages-request.ts'

export class ClaudeStub extends MessagesApiServer {
  static start(): Promise<ClaudeStub> {
    return new ClaudeStub({ port: 0, reply }).listening()
  }
}

function reply(request: MessagesRequest): { readonly input: object; readonly text: string } {
  const [task = '', ...lines] = textOf(request).split('\n')
  const subject = lines.find((line) => line !== '') ?? ''
  const modules = Number(/exactly (\d+) modules/.exec(task)?.[1] ?? 0)
  return {
    text: `${task.split(' ')[0]}: ${subject}`,
    input: {
      modules: Array.from({ length: modules }, (_, index) => ({ title: `Part ${index + 1}` })),
      lessons: [{ title: `About ${lines.at(-1)}`, text: `All of ${subject}` }],
      questions: lines.slice(1).map((line) => ({ question: `What is ${line}?`, answer: line })),
    },
  }
}
