/**
 * What the messages of a queue, or the jobs of one type, are held against: the declared schema, and
 * where `noPersonalData` is set a look for personal data before it.
 */
import type { JobsQueue, JobType } from './jobs-declaration.ts'
import { type PersonalDataKind, personalData } from './personal-data.ts'
import type { DeclaredQueue, MessageSchema } from './queue-declaration.ts'

/** Undefined where every JSON value passes. */
export function contractOf({ options }: DeclaredQueue): MessageSchema | undefined {
  return options.noPersonalData ? withoutPersonalData(options.schema) : options.schema
}

/** A type may ask for it alone, or be left out of what its queue asks for. */
export function jobContractOf({ options }: JobsQueue, type: JobType): MessageSchema {
  const refuses = type.noPersonalData ?? options.noPersonalData
  return refuses ? withoutPersonalData(type.schema) : type.schema
}

const expected: Readonly<Record<PersonalDataKind, string>> = {
  email: 'no e-mail address: this contract takes no personal data',
  phone: 'no phone number: this contract takes no personal data',
  name: 'no field named like the name of a person: this contract takes no personal data',
  key: 'no e-mail address or phone number as a key: this contract takes no personal data',
}

/** A schema that looks at the message as it was sent, before the other one may change it. */
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

/** A queue of an app, with its name in the store. */
export interface QueueContract {
  readonly name: string
  readonly declared: DeclaredQueue
}
