/**
 * The six queues, the chains of course generation and the nightly clean-up, declared once. Payloads are identifiers and a few words about the task: content
 * stays in the database and on the disk, so a job is small and holds nothing private.
 */

import { chain, defineApp, type HandlerContext, jobs, type Mill, queue, schedule } from 'millrace'
import { z } from 'zod'
import type { QueueSettings } from './environment.ts'

/** Keys of the app, names in the store, and the last part of the address at which jobs are enqueued. */
export const jobQueueNames = [
  'ocr_queue',
  'ai_processing_queue',
  'indexing_queue',
  'email_queue',
  'notification_queue',
  'course_generation_queue',
] as const

const id = z.string().min(1).max(100)

const OcrDocument = z.strictObject({ document_id: id })
const AiTask = z.strictObject({ document_id: id, task: z.enum(['summary', 'keywords']) })
const IndexEntity = z.strictObject({ entity_type: z.literal('document'), entity_id: id })
const SendEmail = z.strictObject({
  to: z.email(),
  template: z.enum(['welcome', 'document_ready', 'course_ready']),
})
const CreateNotification = z.strictObject({
  user_id: id,
  kind: z.enum(['document_ready', 'course_ready', 'message']),
  entity_id: id.optional(),
})
const CourseStep = z.strictObject({ course_id: id })
const ModuleStep = z.strictObject({ course_id: id, module_id: id })
const CleanUp = z.strictObject({ at: z.iso.datetime() })

export type OcrDocument = z.infer<typeof OcrDocument>
export type AiTask = z.infer<typeof AiTask>
export type IndexEntity = z.infer<typeof IndexEntity>
export type SendEmail = z.infer<typeof SendEmail>
export type CreateNotification = z.infer<typeof CreateNotification>
export type CourseStep = z.infer<typeof CourseStep>
export type ModuleStep = z.infer<typeof ModuleStep>
export type CleanUp = z.infer<typeof CleanUp>

/** Each step reads from the database what the steps before it wrote, so all of them take the same ids. */
const sameModule = (_result: unknown, start: ModuleStep): ModuleStep => start
const sameCourse = (_result: unknown, start: CourseStep): CourseStep => start

function step<const Type extends string>(type: Type) {
  return { name: type, queue: 'course_generation_queue', type } as const
}

export type JobQueueApp = ReturnType<typeof jobQueueApp>
export type JobQueueMill = Mill<JobQueueApp>
export type Context = HandlerContext<JobQueueApp['queues'], JobQueueApp>
export type JobQueueName = (typeof jobQueueNames)[number]

export function jobQueueApp(settings: QueueSettings) {
  const policy = {
    attempts: settings.attempts,
    backoff: { from: { ms: settings.backoffMs } },
    visibilityTimeout: { ms: settings.leaseMs },
    // What nobody has started within a day is given up, and its row says so.
    retention: '1d',
    maxMessageBytes: 4_096,
    deadLetter: { queue: 'dead_letters' },
    // The rows of finished jobs are the history that audits read.
    keepFinished: { completed: 'forever', failed: 'forever' },
  } as const
  return defineApp('job-queue', {
    queues: {
      ocr_queue: jobs({ ...policy, name: 'ocr_queue', types: { ocr_document: OcrDocument } }),
      ai_processing_queue: jobs({
        ...policy,
        name: 'ai_processing_queue',
        types: { ai_task: AiTask },
      }),
      indexing_queue: jobs({
        ...policy,
        name: 'indexing_queue',
        types: { index_entity: IndexEntity },
      }),
      email_queue: jobs({
        ...policy,
        name: 'email_queue',
        types: { send_email: { schema: SendEmail, personal: ['to'] } },
      }),
      notification_queue: jobs({
        ...policy,
        name: 'notification_queue',
        types: { create_notification: CreateNotification },
      }),
      course_generation_queue: jobs({
        ...policy,
        name: 'course_generation_queue',
        types: {
          outline: CourseStep,
          module_lessons: ModuleStep,
          module_exam: ModuleStep,
          final_exam: CourseStep,
          mastery_analysis: CourseStep,
        },
        // Both hold for all workers together: so many courses advance, and calls keep their distance.
        concurrency: settings.courseConcurrency,
        rate: { max: 1, per: { ms: settings.courseLimiterMs } },
      }),
      maintenance_queue: jobs({
        ...policy,
        name: 'maintenance_queue',
        types: { clean_up: CleanUp },
      }),
      dead_letters: queue({ name: 'job_queue_dead_letters', retention: '14d' }),
    },
    // How many modules a course has, its outline decides. So each module is a chain of its own, known by
    // the module's id, and the last step of one starts the next: a course never does two things at once.
    chains: {
      module: chain({
        steps: [step('module_lessons'), { ...step('module_exam'), from: sameModule }],
      }),
      ending: chain({
        steps: [step('final_exam'), { ...step('mastery_analysis'), from: sameCourse }],
      }),
    },
    schedules: {
      nightly: schedule({
        cron: '0 3 * * *',
        zone: settings.cleanupZone,
        queue: 'maintenance_queue',
        type: 'clean_up',
      }),
    },
  })
}
