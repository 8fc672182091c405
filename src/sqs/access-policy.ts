/**
 * The access policy of a queue. It is checked, stored and returned, but not enforced. Permissions are
 * statements in it.
 */
import { AttributeRefusal, invalidAttribute, invalidPolicy } from './attribute-refusal.ts'
import { isObject, parseJsonObject } from './json-object.ts'

const attribute = 'Policy'
const statementsMax = 20
const actionsMax = 7
const policyMembers: readonly string[] = ['Version', 'Id', 'Statement']
const statementMembers: readonly string[] = [
  'Sid',
  'Effect',
  'Principal',
  'NotPrincipal',
  'Action',
  'NotAction',
  'Resource',
  'NotResource',
  'Condition',
]
const versions: readonly unknown[] = [undefined, '2008-10-17', '2012-10-17']

type Statement = Readonly<Record<string, unknown>>

/** Throws unless the text is a valid policy. */
export function checkAccessPolicy(text: string): void {
  const policy = parseJsonObject(text)
  if (
    policy === undefined ||
    !Object.keys(policy).every((member) => policyMembers.includes(member)) ||
    !versions.includes(policy['Version'])
  ) {
    throw invalidAttribute(attribute)
  }
  const statements = statementsOf(policy)
  if (statements.length === 0 || !statements.every(isStatement)) throw invalidAttribute(attribute)
  if (statements.length > statementsMax) {
    throw new AttributeRefusal(
      'OverLimit',
      `${statements.length} statements were found in the submitted policy, max allowed is ${statementsMax}`,
    )
  }
}

/** A single statement needs no list. */
function statementsOf(policy: Statement): readonly unknown[] {
  const { Statement: statements } = policy
  return Array.isArray(statements) ? statements : [statements]
}

function isStatement(value: unknown): value is Statement {
  return (
    isObject(value) &&
    (value['Effect'] === 'Allow' || value['Effect'] === 'Deny') &&
    Object.keys(value).every((member) => statementMembers.includes(member))
  )
}

export interface Permission {
  readonly queueArn: string
  readonly label: string
  readonly accounts: readonly string[]
  readonly actions: readonly string[]
}

/** Adds a statement to the policy, or creates the policy. */
export function addPermission(policy: string | undefined, permission: Permission): string {
  const { queueArn, label, accounts, actions } = permission
  checkActions(actions)
  const document = (policy === undefined ? undefined : parseJsonObject(policy)) ?? {
    Version: '2008-10-17',
    Id: `${queueArn}/SQSDefaultPolicy`,
    Statement: [],
  }
  const statements = statementsOf(document)
  if (statements.some((one) => sidOf(one) === label)) throw invalidLabel(label, 'Already exists.')
  const Statement = [
    ...statements,
    {
      Sid: label,
      Effect: 'Allow',
      Principal: { AWS: oneOrMany(accounts.map((account) => `arn:aws:iam::${account}:root`)) },
      Action: oneOrMany(actions.map((action) => `SQS:${action}`)),
      Resource: queueArn,
    },
  ]
  if (Statement.length > statementsMax) throw tooMany(Statement.length, 'Statements', statementsMax)
  return JSON.stringify({ ...document, Statement })
}

/** Removes the statement with this label; returns undefined if no statement is left. */
export function removePermission(policy: string | undefined, label: string): string | undefined {
  const document = policy === undefined ? undefined : parseJsonObject(policy)
  const statements = document === undefined ? [] : statementsOf(document)
  const Statement = statements.filter((one) => sidOf(one) !== label)
  if (Statement.length === statements.length) throw invalidLabel(label, "can't find label.")
  return Statement.length === 0 ? undefined : JSON.stringify({ ...document, Statement })
}

const grantable: readonly string[] = [
  '*',
  'ChangeMessageVisibility',
  'DeleteMessage',
  'GetQueueAttributes',
  'GetQueueUrl',
  'ListDeadLetterSourceQueues',
  'PurgeQueue',
  'ReceiveMessage',
  'SendMessage',
]

const forOwners: readonly string[] = [
  'AddPermission',
  'CancelMessageMoveTask',
  'CreateQueue',
  'DeleteQueue',
  'ListMessageMoveTasks',
  'ListQueueTags',
  'ListQueues',
  'RemovePermission',
  'SetQueueAttributes',
  'StartMessageMoveTask',
  'TagQueue',
  'UntagQueue',
]

function checkActions(actions: readonly string[]): void {
  if (actions.length > actionsMax) throw tooMany(actions.length, 'Actions', actionsMax)
  for (const action of actions) {
    if (grantable.includes(action)) continue
    const reason = forOwners.includes(action)
      ? 'Only the queue owner is allowed to invoke this action.'
      : 'Please refer to the appropriate WSDL for a list of valid actions.'
    throw invalidPolicy({ attribute: 'ActionName', text: `SQS:${action}`, reason })
  }
}

function sidOf(statement: unknown): unknown {
  return isObject(statement) ? statement['Sid'] : undefined
}

function oneOrMany(values: readonly string[]): string | readonly string[] {
  const [only] = values
  return values.length === 1 && only !== undefined ? only : values
}

function invalidLabel(label: string, reason: string): AttributeRefusal {
  return invalidPolicy({ attribute: 'Label', text: label, reason })
}

function tooMany(count: number, what: string, max: number): AttributeRefusal {
  return new AttributeRefusal(
    'OverLimit',
    `${count} ${what} were found, maximum allowed is ${max}.`,
  )
}
