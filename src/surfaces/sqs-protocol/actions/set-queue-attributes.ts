/** SetQueueAttributes: changes the given attributes of a queue. */
import { settingsFromAttributes } from '../../../sqs/queue-attributes.ts'
import { type Action, action } from '../action.ts'
import { checkDeadLetterTarget } from '../queues/dead-letter-target.ts'
import { inTurn } from '../queues/in-turn.ts'
import { missingParameter } from '../refusals.ts'
import { mapOf, structure, text } from '../shapes.ts'

export const setQueueAttributes: Action = action({
  name: 'SetQueueAttributes',
  input: structure({ QueueUrl: text, Attributes: mapOf('Attribute', 'Name', text) }),
  output: null,
  onQueue: true,
  async run(context, { Attributes }) {
    const { store, settings } = context
    const { address, name: queue } = context.queue()
    await inTurn(store, queue, async () => {
      const { settings: current } = await store.readQueue({ queue })
      if (Attributes === undefined) throw missingParameter('Attributes')
      const scene = { queue: address, home: settings.home, type: current.type, current }
      const { type: _kept, ...changes } = settingsFromAttributes(Attributes, scene)
      await checkDeadLetterTarget(store, {
        queue,
        type: current.type,
        target: changes.deadLetter,
        policy: Attributes['RedrivePolicy'],
      })
      if (Object.keys(changes).length > 0) await store.changeQueue({ queue, changes })
    })
    return {}
  },
})
