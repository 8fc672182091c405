/** The sentences in which SQS refuses a parameter, said the same way by all actions. */
import { SqsError, type SqsErrorName } from './sqs-error.ts'

export function missingParameter(name: string): SqsError {
  const message = `The request must contain the parameter ${name}.`
  return new SqsError('MissingRequiredParameterException', message)
}

export function invalidParameter(message: string): SqsError {
  return new SqsError('InvalidParameterValueException', message)
}

/** Of a request for another service of AWS, or for an action that only others have. */
export function otherService(name: SqsErrorName, what: string): SqsError {
  return new SqsError(
    name,
    `This server speaks SQS and no other service of AWS; the request is for '${what.slice(0, 80)}'. ` +
      'Set the endpoint for SQS alone, for example with AWS_ENDPOINT_URL_SQS.',
  )
}

export interface RefusedValue {
  readonly parameter: string
  readonly value: string | number
  readonly reason: string
}

export function invalidValue({ parameter, value, reason }: RefusedValue): SqsError {
  return invalidParameter(`Value ${value} for parameter ${parameter} is invalid. Reason: ${reason}`)
}

/** What to say of a value that has a place on one type of queue only. */
export const notForThisType = 'The request include parameter that is not valid for this queue type'
