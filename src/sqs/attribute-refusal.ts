/** Errors about attributes of a queue, by the error names of SQS. */
export type AttributeRefusalCode =
  | 'InvalidAttributeName'
  | 'InvalidAttributeValue'
  | 'InvalidParameterValue'
  | 'OverLimit'

export class AttributeRefusal extends Error {
  override readonly name = 'AttributeRefusal'
  readonly code: AttributeRefusalCode

  constructor(code: AttributeRefusalCode, message: string) {
    super(message)
    this.code = code
  }
}

export function unknownAttribute(name: string): AttributeRefusal {
  return new AttributeRefusal('InvalidAttributeName', `Unknown Attribute ${name}.`)
}

export function invalidAttribute(name: string, reason?: string): AttributeRefusal {
  const why = reason === undefined ? '' : ` Reason: ${reason}`
  return new AttributeRefusal(
    'InvalidAttributeValue',
    `Invalid value for the parameter ${name}.${why}`,
  )
}

export interface RefusedPolicy {
  readonly attribute: string
  /** As given. */
  readonly text: string
  readonly reason: string
}

/** For a policy that can be parsed but is not valid. */
export function invalidPolicy({ attribute, text, reason }: RefusedPolicy): AttributeRefusal {
  return new AttributeRefusal(
    'InvalidParameterValue',
    `Value ${text} for parameter ${attribute} is invalid. Reason: ${reason}`,
  )
}
