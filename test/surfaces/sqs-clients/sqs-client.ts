/**
 * What the tests know of a client of SQS: it calls an action by its name and answers, or fails with what
 * that client makes of a refusal. The types are those of the current AWS SDK.
 */
import type * as sdk from '@aws-sdk/client-sqs'

/** Input and output of each of the 23 actions. */
export interface SqsActions {
  AddPermission: [sdk.AddPermissionCommandInput, sdk.AddPermissionCommandOutput]
  CancelMessageMoveTask: [
    sdk.CancelMessageMoveTaskCommandInput,
    sdk.CancelMessageMoveTaskCommandOutput,
  ]
  ChangeMessageVisibility: [
    sdk.ChangeMessageVisibilityCommandInput,
    sdk.ChangeMessageVisibilityCommandOutput,
  ]
  ChangeMessageVisibilityBatch: [
    sdk.ChangeMessageVisibilityBatchCommandInput,
    sdk.ChangeMessageVisibilityBatchCommandOutput,
  ]
  CreateQueue: [sdk.CreateQueueCommandInput, sdk.CreateQueueCommandOutput]
  DeleteMessage: [sdk.DeleteMessageCommandInput, sdk.DeleteMessageCommandOutput]
  DeleteMessageBatch: [sdk.DeleteMessageBatchCommandInput, sdk.DeleteMessageBatchCommandOutput]
  DeleteQueue: [sdk.DeleteQueueCommandInput, sdk.DeleteQueueCommandOutput]
  GetQueueAttributes: [sdk.GetQueueAttributesCommandInput, sdk.GetQueueAttributesCommandOutput]
  GetQueueUrl: [sdk.GetQueueUrlCommandInput, sdk.GetQueueUrlCommandOutput]
  ListDeadLetterSourceQueues: [
    sdk.ListDeadLetterSourceQueuesCommandInput,
    sdk.ListDeadLetterSourceQueuesCommandOutput,
  ]
  ListMessageMoveTasks: [
    sdk.ListMessageMoveTasksCommandInput,
    sdk.ListMessageMoveTasksCommandOutput,
  ]
  ListQueueTags: [sdk.ListQueueTagsCommandInput, sdk.ListQueueTagsCommandOutput]
  ListQueues: [sdk.ListQueuesCommandInput, sdk.ListQueuesCommandOutput]
  PurgeQueue: [sdk.PurgeQueueCommandInput, sdk.PurgeQueueCommandOutput]
  ReceiveMessage: [sdk.ReceiveMessageCommandInput, sdk.ReceiveMessageCommandOutput]
  RemovePermission: [sdk.RemovePermissionCommandInput, sdk.RemovePermissionCommandOutput]
  SendMessage: [sdk.SendMessageCommandInput, sdk.SendMessageCommandOutput]
  SendMessageBatch: [sdk.SendMessageBatchCommandInput, sdk.SendMessageBatchCommandOutput]
  SetQueueAttributes: [sdk.SetQueueAttributesCommandInput, sdk.SetQueueAttributesCommandOutput]
  StartMessageMoveTask: [
    sdk.StartMessageMoveTaskCommandInput,
    sdk.StartMessageMoveTaskCommandOutput,
  ]
  TagQueue: [sdk.TagQueueCommandInput, sdk.TagQueueCommandOutput]
  UntagQueue: [sdk.UntagQueueCommandInput, sdk.UntagQueueCommandOutput]
}

export type ActionName = keyof SqsActions
export type InputOf<Name extends ActionName> = SqsActions[Name][0]
/** What a client adds about the response itself is left out: each does it in its own way. */
export type OutputOf<Name extends ActionName> = Omit<SqsActions[Name][1], '$metadata'>

export type ProtocolName = 'json' | 'query'

export interface SqsClient {
  readonly protocol: ProtocolName
  call<Name extends ActionName>(action: Name, input: InputOf<Name>): Promise<OutputOf<Name>>
  close(): Promise<void>
}

/** The same for all clients; only a server with access keys looks at it. */
export const secretAccessKey = 'secret-of-all-test-clients'

/** Where a client finds the server, and who it says it is. */
export interface ClientSettings {
  readonly endpoint: string
  readonly region?: string
  /** An access key of twelve digits is the account of its holder. */
  readonly accessKeyId?: string
}

export interface ClientKind {
  /** As it stands in the names of tests. */
  readonly name: string
  readonly protocol: ProtocolName
  open(settings: ClientSettings): SqsClient
}

export interface RefusalFacts {
  readonly code: string
  readonly status: number | undefined
  readonly kind: string
  readonly message: string
}

/** A refusal as a client reports it. */
export class SqsRefusal extends Error {
  override readonly name = 'SqsRefusal'
  /** The code of the Query protocol, which all clients know: JSON clients get it by a header. */
  readonly code: string
  /** The aws command does not tell it. */
  readonly status: number | undefined
  /** The name of the error that the client throws. */
  readonly kind: string

  constructor({ code, status, kind, message }: RefusalFacts) {
    super(message)
    this.code = code
    this.status = status
    this.kind = kind
  }
}

/** The refusal of a call that must fail. */
export async function refusalOf(call: Promise<unknown>): Promise<SqsRefusal> {
  const outcome = await call.then(
    () => new Error('The call succeeded.'),
    (error: unknown) => error,
  )
  if (outcome instanceof SqsRefusal) return outcome
  throw outcome
}
