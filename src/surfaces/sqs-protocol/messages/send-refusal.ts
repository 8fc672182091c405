/** Why the store did not take a message, in the words of SQS. */

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
  /** Those that were sent with one call; the error is about one of them. */
  readonly messages: readonly NewMessage[]
  /** Whether it is told of one entry, while others may have been taken. */
  readonly isEntry: boolean
}

const violationsLengthMax = 2_000
const everyForbidden = new RegExp(forbiddenCharacter, 'gu')

/** Paths have keys of the message in them, which XML may not be able to hold; there may be many. */
function describeViolations({ message }: MillraceError): string {
  const shown = message.slice(0, violationsLengthMax).replace(everyForbidden, '\uFFFD')
  const more = message.length > violationsLengthMax ? ' …' : ''
  return `The message breaks the contract of the queue. ${shown}${more}`
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
