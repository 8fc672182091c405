/**
 * The error tags: what can be wrong with an attempt. Rules find some of them. The others need a language model or
 * a person. Ids never change, because telemetry and messages refer to them.
 */
export interface ErrorTag {
  readonly id: string
  readonly code: string
  readonly subdomain: 'ARITHMETIC' | 'FRACTIONS' | 'ALGEBRA' | 'ANY'
  readonly description: string
}

export const errorTags = [
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a01',
    code: 'ADD_CARRY_OMITTED',
    subdomain: 'ARITHMETIC',
    description: 'Adds column by column and forgets to carry.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a02',
    code: 'SUB_SMALLER_FROM_LARGER',
    subdomain: 'ARITHMETIC',
    description: 'Takes the smaller digit from the larger one in every column.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a03',
    code: 'SUB_BORROW_NOT_PAID',
    subdomain: 'ARITHMETIC',
    description: 'Borrows ten and does not take it from the next column.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a04',
    code: 'TIMES_TABLE_SLIP',
    subdomain: 'ARITHMETIC',
    description: 'Answers a neighbour in the times table.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a05',
    code: 'OPERATION_SWAPPED',
    subdomain: 'ARITHMETIC',
    description: 'Carries out another operation than the one that is asked for.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a06',
    code: 'ORDER_OF_OPERATIONS',
    subdomain: 'ARITHMETIC',
    description: 'Works from left to right where multiplication comes first.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a07',
    code: 'FRACTION_ADD_ACROSS',
    subdomain: 'FRACTIONS',
    description: 'Adds numerators and denominators separately.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a08',
    code: 'DISTRIBUTE_FIRST_ONLY',
    subdomain: 'ALGEBRA',
    description: 'Multiplies only the first term of a bracket.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a09',
    code: 'NEGATIVE_NOT_DISTRIBUTED',
    subdomain: 'ALGEBRA',
    description: 'Changes only the first sign when a bracket is subtracted.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a10',
    code: 'UNLIKE_TERMS_COMBINED',
    subdomain: 'ALGEBRA',
    description: 'Adds a number to a coefficient.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a11',
    code: 'TRANSPOSE_SIGN_KEPT',
    subdomain: 'ALGEBRA',
    description: 'Moves a term to the other side and keeps its sign.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a12',
    code: 'ONE_SIDE_ONLY',
    subdomain: 'ALGEBRA',
    description: 'Changes one side of an equation and not the other.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a13',
    code: 'COEFFICIENT_SUBTRACTED',
    subdomain: 'ALGEBRA',
    description: 'Subtracts the coefficient instead of dividing by it.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a14',
    code: 'DIVISION_INVERTED',
    subdomain: 'ALGEBRA',
    description: 'Divides the coefficient by the other side.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a15',
    code: 'NOT_FINISHED',
    subdomain: 'ANY',
    description: 'Every line is right, and the answer is not there yet.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a16',
    code: 'DIGITS_TRANSPOSED',
    subdomain: 'ANY',
    description: 'Writes the right digits in another order.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a17',
    code: 'CALCULATION_SLIP',
    subdomain: 'ANY',
    description: 'Follows the right method and miscalculates by a little.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a18',
    code: 'CONCEPT_NOT_UNDERSTOOD',
    subdomain: 'ANY',
    description: 'Does not use the idea that the exercise is about.',
  },
  {
    id: '6a3c5b1e-3c43-4c0e-9a3d-0f0d5a0c1a19',
    code: 'UNREADABLE',
    subdomain: 'ANY',
    description: 'The work cannot be read.',
  },
] as const satisfies readonly ErrorTag[]

export type ErrorCode = (typeof errorTags)[number]['code']

/** A mistake that rules can recognise: what a student who makes it writes instead. */
export interface Mistake<Right, Wrong> {
  readonly code: ErrorCode
  readonly wrong: (right: Right) => readonly Wrong[]
}

export const errorCodes: readonly ErrorCode[] = errorTags.map(({ code }) => code)

export function isErrorCode(code: string): code is ErrorCode {
  return errorCodes.some((known) => known === code)
}

export function errorTagId(code: ErrorCode): string {
  const tag = errorTags.find((one) => one.code === code)
  if (tag === undefined) throw new Error(`Unknown error tag: ${code}.`)
  return tag.id
}

export function errorTagOf(id: string): ErrorTag | undefined {
  return errorTags.find((tag) => tag.id === id)
}
