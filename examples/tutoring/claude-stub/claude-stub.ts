/** A stub of Claude on this machine, which classifies by simple arithmetic. */
import { MessagesApiServer } from '../../shared/messages-api/messages-api-server.ts'
import { textOf } from '../../shared/messages-api/messages-request.ts'
import { judgeWork } from './judge-work.ts'

export class ClaudeStub extends MessagesApiServer {
  /** Default: any free port. */
  static start(port = 0): Promise<ClaudeStub> {
    const stub = new ClaudeStub({
      port,
      reply: (request) => {
        const input = judgeWork(textOf(request))
        return { input, text: input.error_code }
      },
    })
    return stub.listening()
  }
}
