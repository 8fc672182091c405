/**
 * Sends to the queues of an app with the AWS SDK, from a function or any other program. Messages are encoded
 * and checked against the contract of their queue before anything is sent.
 */
import type { App } from '../contracts/define-app.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { SqsSender, SqsSenderOptions } from './sqs-sender-types.ts'
import type { UntypedSender } from './untyped-sender.ts'

const optionNames: OptionNames<SqsSenderOptions> = {
  urls: true,
  stage: true,
  client: true,
  environment: true,
  ports: true,
}

export function sqsSender<const Opened extends App>(
  app: Opened,
  options: SqsSenderOptions<Opened> = {},
): SqsSender<Opened> {
  refuseUnknownOptions(options, optionNames)
  const keys = Object.fromEntries(Object.keys(app.queues).map((key) => [key, true] as const))
  refuseUnknownOptions(options.urls ?? {}, keys, 'urls.')
  let loaded: Promise<UntypedSender> | undefined
  // Only programs that send load the producers and the SDK.
  const sender = (): Promise<UntypedSender> => {
    loaded ??= import('./untyped-sender.ts').then((one) => new one.UntypedSender(app, options))
    return loaded
  }
  // The types say which messages and options belong to which queue; the sender checks both.
  return {
    send: async (queue, message, given) => {
      const checked = await (await sender()).check(queue, message, given)
      return checked.send()
    },
    sendMany: async (queue, messages, given) => (await sender()).sendMany(queue, messages, given),
    check: async (queue, message, given) => (await sender()).check(queue, message, given),
    enqueue: async (queue, type, payload, given) =>
      (await sender()).enqueue(queue, type, payload, given),
    close: () => void loaded?.then((one) => one.close()),
  } as SqsSender<Opened>
}
