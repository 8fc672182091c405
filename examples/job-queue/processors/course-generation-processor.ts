/**
 * Writes a course step by step: outline, lessons and exam of each module, final exam, mastery analysis. Within
 * a chain Millrace starts the next step. The last step of a chain starts the next chain through its context. Both
 * happen in the commit that completes the step.
 */
import { UnrecoverableError } from 'millrace'
import type { Context, CourseStep, ModuleStep } from '../app.ts'
import type { Course, CourseModule } from '../services/courses-service.ts'
import type { Services } from '../services/services.ts'
import { InsufficientCreditsError } from '../services/users-service.ts'

export interface StepResult {
  /** `skipped`: all attempts failed, and the course continues without this step. */
  readonly outcome: 'written' | 'skipped' | 'course_ended'
}

interface Step {
  /** Identifies the step, so that its credit is taken once. */
  readonly key: string
  readonly write: () => Promise<void>
  /** Starts the next chain, if this is the last step of one. */
  readonly next?: () => void
  /** Without this step the course fails. */
  readonly essential?: boolean
}

export function courseGenerationProcessor(services: Services) {
  const { courses, ai } = services

  const find = (course_id: string): Course => {
    const course = courses.find(course_id)
    if (course === undefined) throw new UnrecoverableError('The course has been deleted.')
    return course
  }
  const moduleOf = ({ course_id, module_id }: ModuleStep): CourseModule => {
    const module = courses.modulesOf(course_id).find(({ id }) => id === module_id)
    if (module === undefined) throw new UnrecoverableError('The module has been deleted.')
    return module
  }
  /** Starts the next module, or the end of the course after the last one. */
  const advance = ({ id, owner }: Course, context: Context, position: number): void => {
    const module = courses.modulesOf(id)[position]
    const course = { course_id: id }
    const options = { options: { owner } }
    if (module === undefined) context.start('ending', id, course, options)
    else context.start('module', module.id, { ...course, module_id: module.id }, options)
  }

  return {
    outline: async ({ course_id }: CourseStep, context: Context): Promise<StepResult> => {
      const course = find(course_id)
      return runStep(services, course, context, {
        key: `outline:${course_id}`,
        essential: true,
        write: async () => {
          const { topic, moduleCount: modules } = course
          courses.saveOutline(course_id, await ai.outline({ topic, modules }))
        },
        next: () => advance(course, context, 0),
      })
    },

    module_lessons: async (payload: ModuleStep, context: Context): Promise<StepResult> => {
      const course = find(payload.course_id)
      const module = moduleOf(payload)
      return runStep(services, course, context, {
        key: `module_lessons:${module.id}`,
        write: async () => {
          const lessons = await ai.lessons({ topic: course.topic, title: module.title })
          courses.saveLessons(course.id, module.id, lessons)
        },
      })
    },

    module_exam: async (payload: ModuleStep, context: Context): Promise<StepResult> => {
      const course = find(payload.course_id)
      const module = moduleOf(payload)
      return runStep(services, course, context, {
        key: `module_exam:${module.id}`,
        write: async () => {
          const exam = await ai.exam({ title: course.topic, about: [module.title] })
          courses.saveExam(course.id, module.id, exam)
        },
        next: () => advance(course, context, module.position),
      })
    },

    final_exam: async ({ course_id }: CourseStep, context: Context): Promise<StepResult> => {
      const course = find(course_id)
      return runStep(services, course, context, {
        key: `final_exam:${course_id}`,
        write: async () => {
          const about = courses.modulesOf(course_id).map(({ title }) => title)
          courses.saveFinalExam(course_id, await ai.exam({ title: course.topic, about }))
        },
      })
    },

    mastery_analysis: async ({ course_id }: CourseStep, context: Context): Promise<StepResult> => {
      const course = find(course_id)
      let mastery: string | undefined
      return runStep(services, course, context, {
        key: `mastery_analysis:${course_id}`,
        write: async () => {
          const modules = courses.modulesOf(course_id).map(({ title }) => title)
          mastery = await ai.mastery({ topic: course.topic, modules })
        },
        next: () => courses.end(course_id, 'completed', mastery),
      })
    },
  }
}

async function runStep(
  { courses, users }: Services,
  course: Course,
  context: Context,
  step: Step,
): Promise<StepResult> {
  if (course.status === 'completed') return { outcome: 'course_ended' }
  if (course.status !== 'generating') throw new UnrecoverableError('The course has failed.')
  let outcome: StepResult['outcome'] = 'written'
  try {
    users.useAiCredit(course.owner, step.key)
    await step.write()
  } catch (error) {
    if (error instanceof InsufficientCreditsError) {
      courses.end(course.id, 'failed_insufficient_credits')
      throw new UnrecoverableError(error.message)
    }
    const isLast = context.attempt === context.maxAttempts
    if (error instanceof UnrecoverableError || !isLast) throw error
    if (step.essential) {
      courses.end(course.id, 'failed')
      throw error
    }
    context.log.warn({ step: step.key }, 'the course continues without this step')
    outcome = 'skipped'
  }
  step.next?.()
  return { outcome }
}
