/** Errors about parameters, with the texts of SQS, shared by all actions. */
import { SqsError, type SqsErrorName } from './sqs-error.ts'

export function missingParameter(name: string): SqsError {
  const message = `The request must contain the parameter ${name}.`
  return new SqsError('MissingRequiredParameterException', message)
}

export function invalidParameter(message: string): SqsError {
  return new SqsError('InvalidParameterValueException', message)
}

/** For a request to another AWS service. */
export function otherService(name: SqsErrorName, what: string): SqsError {
  return new SqsError(
    name,
    `This server supports only SQS, but the request is for '${what.slice(0, 80)}'. ` +
      'Set the endpoint only for SQS, for example with AWS_ENDPOINT_URL_SQS.',
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

/** For a parameter that only the other type of queue supports. The wording is from AWS. */
export const notForThisType = 'The request include parameter that is not valid for this queue type'
