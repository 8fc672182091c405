/** The older forms of a handler, which Lambda's runtimes before Node 24 still take. */
'use strict'

const bodiesOf = (event) => event.Records.map(({ body }) => body)

exports.callback = (event, _context, callback) => {
  setImmediate(() => callback(null, { bodies: bodiesOf(event) }))
}

exports.callbackError = (_event, _context, callback) => callback(new RangeError('by callback'))

exports.waits = (_event, context, callback) => {
  process.stdout.write(`waits: ${context.callbackWaitsForEmptyEventLoop}\n`)
  setTimeout(() => process.stdout.write('the loop was not empty\n'), 20)
  callback(null)
}

exports.doesNotWait = (_event, context, callback) => {
  context.callbackWaitsForEmptyEventLoop = false
  setTimeout(() => process.stdout.write('too late\n'), 60_000)
  callback(null)
}

exports.succeeds = (_event, context) => context.succeed({ ok: true })
exports.fails = (_event, context) => context.fail(new RangeError('by context'))
exports.isDone = (_event, context) => context.done(null, 'done')
exports.forgetsToAnswer = () => 'not looked at'
exports.throwsAtOnce = () => {
  throw new RangeError('at once')
}

exports.nested = { deep: { handler: async () => 'deep' } }

class Wrapped {
  constructor() {
    this.handler = async () => 'wrapped'
  }
}
exports.instance = new Wrapped()
