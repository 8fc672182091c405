/** Converts the error of a rejected message to an error of SQS. */

import { forbiddenCharacter, hasForbiddenCharacter } from '../../../core/check-message.ts'
import type { NewMessage } from '../../../core/message.ts'
import type { MillraceError } from '../../../core/millrace-error.ts'
import type { ActionContext } from '../action.ts'
import { invalidParameter } from '../refusals.ts'
import { SqsError } from '../sqs-error.ts'
import { storeError } from '../store-errors.ts'
import { describeForbiddenCharacter } from './forbidden-character.ts'

export interface RefusedSend {
  readonly error: MillraceError | undefined
  /** The messages of the call. The error concerns one of them. */
  readonly messages: readonly NewMessage[]
  /** Whether the error is for one entry of a batch, while other entries may have succeeded. */
  readonly isEntry: boolean
}

const violationsLengthMax = 2_000
const everyForbidden = new RegExp(forbiddenCharacter, 'gu')

/** Violations contain keys of the message. They may be long, or not allowed in XML. */
function describeViolations({ message }: MillraceError): string {
  const shown = message.slice(0, violationsLengthMax).replace(everyForbidden, '\uFFFD')
  const more = message.length > violationsLengthMax ? ' …' : ''
  return `The message does not match the contract of the queue. ${shown}${more}`
}

export async function sendRefusal(
  context: ActionContext,
  { error, messages, isEntry }: RefusedSend,
): Promise<SqsError> {
  switch (error?.code) {
    case 'message_too_large': {
      const { settings } = await context.store.readQueue({ queue: context.queue().name })
      const what = isEntry ? 'cannot be validated' : 'are invalid'
      return invalidParameter(
        `One or more parameters ${what}. Reason: Message must be shorter than ${settings.messageBytesMax} bytes.`,
      )
    }
    case 'invalid_message': {
      const body = messages.find((message) => hasForbiddenCharacter(message.body))?.body
      const message =
        body === undefined
          ? describeViolations(error)
          : describeForbiddenCharacter(body, 'message body')
      return new SqsError('InvalidMessageContents', message)
    }
    default:
      return storeError(error)
  }
}
