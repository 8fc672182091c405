/** The servers that the carrier is tested with, each in a process of its own. Two of them are not ours. */
import { fileURLToPath } from 'node:url'
import { type CliProcess, startCli, startCommand } from '../../support/cli-process.ts'

/** What a server may lack, with what it does instead. */
export interface Lacks {
  readonly countsOfLeased?: string
  readonly deadLetterSources?: string
  readonly fifoExpiry?: string
  readonly groupsAtOnce?: string
  readonly handleChecks?: string
  readonly plainJobs?: string
  readonly receiveAttempts?: string
  readonly receiveCounts?: string
  readonly tenants?: string
  readonly traceHeaders?: string
}

export interface SqsServer {
  readonly name: string
  readonly lacks: Lacks
  start(dataFolder: string): CliProcess
}

export const millrace: SqsServer = {
  name: 'Millrace',
  lacks: { plainJobs: 'It makes a job of such a message itself, if the queue has jobs.' },
  start: (folder) =>
    startCli(['serve', '--port', '0', '--data', folder, '--log', 'warn', '--no-cooldowns']),
}

const fauxqs: SqsServer = {
  name: 'fauxqs',
  lacks: {
    fifoExpiry: 'It deletes messages of FIFO queues by handles whose lease has ended.',
    handleChecks: 'It returns success for what is not a handle.',
    deadLetterSources: 'It does not return DeadLetterQueueSourceArn.',
    groupsAtOnce: 'It returns one message of a group at a time.',
    receiveAttempts: 'It ignores ReceiveRequestAttemptId.',
    tenants: 'It drops MessageGroupId on standard queues.',
    traceHeaders: 'It drops AWSTraceHeader of batches.',
  },
  start: () => startChild('fauxqs.child.ts'),
}

const localAwsSqs: SqsServer = {
  name: 'local-aws-sqs',
  lacks: {
    countsOfLeased: 'It counts leased messages as ready too.',
    receiveAttempts: 'It ignores ReceiveRequestAttemptId.',
    receiveCounts: 'It counts two receives of a message whose visibility was set to zero.',
  },
  start: () => startChild('local-aws-sqs.child.ts'),
}

export const sqsServers: readonly SqsServer[] = [millrace, fauxqs, localAwsSqs]

function startChild(name: string): CliProcess {
  return startCommand(process.execPath, [fileURLToPath(new URL(name, import.meta.url))])
}
