import type { Step, Wait } from '../../../engine/steps.ts'

/** Runs a rule whose steps wait. */
export async function drive<T>(rule: Step<T>): Promise<T> {
  const steps = rule[Symbol.iterator]() as Iterator<Wait, T, unknown>
  let step = steps.next()
  while (!step.done) {
    let result: unknown
    try {
      result = await step.value
    } catch (error) {
      if (steps.throw === undefined) throw error
      step = steps.throw(error)
      continue
    }
    step = steps.next(result)
  }
  return step.value
}
