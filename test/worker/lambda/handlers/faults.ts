/** Ways in which a function can go wrong, one export each. */
import type { SQSEvent } from 'aws-lambda'

export const exits = (): Promise<never> => process.exit(3)

export const leaves = (): Promise<never> => process.exit(0)

export const throwsLater = (): Promise<void> =>
  new Promise(() => {
    setImmediate(() => {
      throw new RangeError('thrown where nobody catches it')
    })
  })

export const rejectsLater = async (): Promise<void> => {
  void Promise.reject(new Error('rejected where nobody looks'))
  await new Promise(() => setInterval(() => undefined, 1_000))
}

export const spins = (): void => {
  process.stdout.write('spinning\n')
  for (;;) Math.random()
}

export const eats = (): void => {
  const eaten: number[][] = []
  for (;;) eaten.push(new Array(100_000).fill(eaten.length))
}

export const circular = async (event: SQSEvent): Promise<unknown> => {
  const answer: { event: SQSEvent; self?: unknown } = { event }
  answer.self = answer
  return answer
}

export const throwsText = async (): Promise<void> => {
  // biome-ignore lint/style/useThrowOnlyError: functions of others do this
  throw 'only a text'
}

export const neverAnswers = (): Promise<void> => new Promise(() => undefined)

export const notAFunction = 7
