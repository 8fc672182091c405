/** A stub of Claude on this machine: it repeats the last line of the prompt, and fails on demand. */
import { MessagesApiServer } from '../../shared/messages-api/messages-api-server.ts'
import { textOf } from '../../shared/messages-api/messages-request.ts'

export class ClaudeStub extends MessagesApiServer {
  static start(): Promise<ClaudeStub> {
    const stub = new ClaudeStub({
      port: 0,
      reply: (request) => {
        const lines = textOf(request).split('\n')
        return { input: {}, text: `I have read your message: ${lines.at(-1)}` }
      },
    })
    return stub.listening()
  }
}
