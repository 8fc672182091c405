/** Stands for Claude on this machine: it answers with what it was asked, and fails on demand. */
import { MessagesApiServer } from '../../shared/messages-api/messages-api-server.ts'
import { textOf } from '../../shared/messages-api/messages-request.ts'

export class ClaudeStandIn extends MessagesApiServer {
  static start(): Promise<ClaudeStandIn> {
    const standIn = new ClaudeStandIn({
      port: 0,
      judge: (request) => {
        const lines = textOf(request).split('\n')
        return { input: {}, text: `I have read all of it, to the last line: ${lines.at(-1)}` }
      },
    })
    return standIn.listening()
  }
}
