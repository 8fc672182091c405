import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { addPermission, checkAccessPolicy, removePermission } from './access-policy.ts'

const queueArn = 'arn:aws:sqs:us-east-1:000000000000:orders'
const statement = { Effect: 'Allow', Principal: '*', Action: 'sqs:SendMessage', Resource: queueArn }
const permission = { queueArn, label: 'send', accounts: ['111111111111'], actions: ['SendMessage'] }

describe('an access policy', () => {
  test.each([
    { Version: '2012-10-17', Statement: [statement] },
    { Version: '2008-10-17', Id: 'mine', Statement: statement },
    {
      Statement: [
        { ...statement, Sid: 'a', Condition: { Bool: { 'aws:SecureTransport': 'true' } } },
      ],
    },
  ])('may be %j', (policy) => checkAccessPolicy(JSON.stringify(policy)))

  test.each([
    'badjson',
    '[]',
    '"text"',
    '533',
    'null',
    '{}',
    JSON.stringify({ Version: '2012-10-17', Statement: [] }),
    JSON.stringify({ Version: '4532-10-17', Statement: [statement] }),
    JSON.stringify({ Statement: [statement], More: 1 }),
    JSON.stringify({ Statement: [{ ...statement, more: 1 }] }),
    JSON.stringify({ Statement: [{ ...statement, Effect: 'Maybe' }] }),
  ])('is not %s', (text) =>
    assert.throws(() => checkAccessPolicy(text), {
      code: 'InvalidAttributeValue',
      message: 'Invalid value for the parameter Policy.',
    }),
  )

  test('has at most 20 statements', () => {
    const of = (count: number) => JSON.stringify({ Statement: Array(count).fill(statement) })
    checkAccessPolicy(of(20))
    assert.throws(() => checkAccessPolicy(of(21)), {
      code: 'OverLimit',
      message: '21 statements were found in the submitted policy, max allowed is 20',
    })
  })
})

describe('a permission', () => {
  test('makes a policy where there is none', () => {
    assert.deepEqual(JSON.parse(addPermission(undefined, permission)), {
      Version: '2008-10-17',
      Id: `${queueArn}/SQSDefaultPolicy`,
      Statement: [
        {
          Sid: 'send',
          Effect: 'Allow',
          Principal: { AWS: 'arn:aws:iam::111111111111:root' },
          Action: 'SQS:SendMessage',
          Resource: queueArn,
        },
      ],
    })
  })

  test('stands in lists when it is about several accounts or actions', () => {
    const many = {
      ...permission,
      accounts: ['111111111111', '222222222222'],
      actions: ['SendMessage', '*'],
    }
    const { Statement } = JSON.parse(addPermission(undefined, many))
    assert.deepEqual(Statement[0].Principal.AWS, [
      'arn:aws:iam::111111111111:root',
      'arn:aws:iam::222222222222:root',
    ])
    assert.deepEqual(Statement[0].Action, ['SQS:SendMessage', 'SQS:*'])
  })

  test('joins the statements of a policy that is there, in a list or alone', () => {
    for (const Statement of [statement, [statement]]) {
      const policy = addPermission(JSON.stringify({ Version: '2012-10-17', Statement }), permission)
      const { Version, Statement: statements } = JSON.parse(policy)
      assert.equal(Version, '2012-10-17')
      assert.deepEqual(statements[0], statement)
      assert.equal(statements[1].Sid, 'send')
    }
  })

  test('needs a label of its own', () => {
    const policy = addPermission(undefined, permission)
    assert.throws(() => addPermission(policy, permission), {
      message: 'Value send for parameter Label is invalid. Reason: Already exists.',
    })
  })

  test.each([
    ['EatMessage', 'Please refer to the appropriate WSDL for a list of valid actions.'],
    ['SendMessageBatch', 'Please refer to the appropriate WSDL for a list of valid actions.'],
    ['DeleteQueue', 'Only the queue owner is allowed to invoke this action.'],
  ])('cannot be about %s', (action, reason) => {
    assert.throws(() => addPermission(undefined, { ...permission, actions: [action] }), {
      code: 'InvalidParameterValue',
      message: `Value SQS:${action} for parameter ActionName is invalid. Reason: ${reason}`,
    })
  })

  test('is about at most seven actions, and one of at most 20', () => {
    const actions = Array(8).fill('SendMessage')
    assert.throws(() => addPermission(undefined, { ...permission, actions }), {
      code: 'OverLimit',
      message: '8 Actions were found, maximum allowed is 7.',
    })
    let policy: string | undefined
    for (let count = 1; count <= 20; count += 1) {
      policy = addPermission(policy, { ...permission, label: `label-${count}` })
    }
    assert.throws(() => addPermission(policy, permission), {
      code: 'OverLimit',
      message: '21 Statements were found, maximum allowed is 20.',
    })
  })

  test('is taken back by its label, the last one with the policy', () => {
    const one = addPermission(undefined, permission)
    const both = addPermission(one, { ...permission, label: 'other' })
    assert.equal(removePermission(both, 'other'), one)
    assert.equal(removePermission(one, 'send'), undefined)
    for (const policy of [one, undefined]) {
      assert.throws(() => removePermission(policy, 'other'), {
        message: "Value other for parameter Label is invalid. Reason: can't find label.",
      })
    }
  })
})
