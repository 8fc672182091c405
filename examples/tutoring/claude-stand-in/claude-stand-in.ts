/** Stands for Claude on this machine. The judgement behind its answers is a few lines of arithmetic. */
import { MessagesApiServer } from '../../shared/messages-api/messages-api-server.ts'
import { textOf } from '../../shared/messages-api/messages-request.ts'
import { judgeWork } from './judge-work.ts'

export class ClaudeStandIn extends MessagesApiServer {
  /** On any free port, unless one is given. */
  static start(port = 0): Promise<ClaudeStandIn> {
    const standIn = new ClaudeStandIn({
      port,
      judge: (request) => {
        const input = judgeWork(textOf(request))
        return { input, text: input.error_code }
      },
    })
    return standIn.listening()
  }
}
