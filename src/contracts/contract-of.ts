/**
 * The contract of a queue's messages, or of the jobs of one type: the declared schema. With `noPersonalData`,
 * a check for personal data runs first.
 */
import type { JobsQueue, JobType } from './jobs-declaration.ts'
import { type PersonalDataKind, personalData } from './personal-data.ts'
import type { DeclaredQueue, MessageSchema } from './queue-declaration.ts'
import type { TieredApp } from './tier-declaration.ts'

/** Undefined if every JSON value is valid. */
export function contractOf({ options }: DeclaredQueue): MessageSchema | undefined {
  return options.noPersonalData ? withoutPersonalData(options.schema) : options.schema
}

/** A job type's own `noPersonalData` overrides that of its queue. */
export function jobContractOf({ options }: JobsQueue, type: JobType): MessageSchema {
  const refuses = type.noPersonalData ?? options.noPersonalData
  return refuses ? withoutPersonalData(type.schema) : type.schema
}

const expected: Readonly<Record<PersonalDataKind, string>> = {
  email: 'no e-mail address: this contract allows no personal data',
  phone: 'no phone number: this contract allows no personal data',
  name: "no field named like a person's name: this contract allows no personal data",
  key: 'no e-mail address or phone number as a key: this contract allows no personal data',
}

/** Checks the message as it was sent, before the other schema can transform it. */
function withoutPersonalData(schema: MessageSchema | undefined): MessageSchema {
  const inner = schema?.['~standard']
  return {
    '~standard': {
      version: 1,
      vendor: inner?.vendor ?? 'millrace',
      validate: (value) => {
        const issues = personalData(value).map(({ kind, path }) => ({
          message: expected[kind],
          expected: expected[kind],
          path,
        }))
        if (issues.length > 0) return { issues }
        return inner === undefined ? { value } : inner.validate(value)
      },
    },
  }
}

/** A queue of an app, with its key in the app and its name in the store. */
export interface QueueContract {
  readonly key: string
  readonly name: string
  readonly declared: DeclaredQueue
  readonly app: TieredApp
}
