/**
 * The worker process: one processor per queue, and the nightly clean-up. Start as many as you need. On SIGTERM
 * it takes no new jobs, finishes the running ones, and exits.
 */

import { type Logger, runUntilSignal, type Worker } from 'millrace'
import { pino } from 'pino'
import { type JobQueueMill, jobQueueNames } from './app.ts'
import { cleanup } from './cleanup.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { openMill } from './open-mill.ts'
import { aiProcessingProcessor } from './processors/ai-processing-processor.ts'
import { courseGenerationProcessor } from './processors/course-generation-processor.ts'
import { emailProcessor } from './processors/email-processor.ts'
import { indexingProcessor } from './processors/indexing-processor.ts'
import { notificationProcessor } from './processors/notification-processor.ts'
import { ocrProcessor } from './processors/ocr-processor.ts'
import { aiProviderOf } from './services/ai-provider.ts'
import { openServices, type Services } from './services/services.ts'

type Settings = Pick<Environment, 'workerConcurrency' | 'courseConcurrency' | 'deadLettersKept'>

export function createWorker(mill: JobQueueMill, services: Services, settings: Settings): Worker {
  const light = settings.workerConcurrency
  // OCR needs a CPU core and models cost money per call; mail and notifications mostly wait.
  const heavy = Math.max(1, Math.floor(light / 2))
  const queueConcurrency = {
    ocr_queue: heavy,
    ai_processing_queue: heavy,
    indexing_queue: light,
    email_queue: light,
    notification_queue: light,
    course_generation_queue: settings.courseConcurrency,
    maintenance_queue: 1,
  }
  return mill.worker({
    poll: [...jobQueueNames, 'maintenance_queue'],
    queueConcurrency,
    concurrency: Object.values(queueConcurrency).reduce((sum, count) => sum + count),
    handle: {
      ocr_document: ocrProcessor(services),
      ai_task: aiProcessingProcessor(services),
      index_entity: indexingProcessor(services),
      send_email: emailProcessor(services),
      create_notification: notificationProcessor(services),
      ...courseGenerationProcessor(services),
      clean_up: cleanup({ mill, services, deadLettersKept: settings.deadLettersKept }),
    },
  })
}

/** Works until SIGTERM or SIGINT. */
async function main(environment: Environment, log: Logger): Promise<void> {
  const ai = await aiProviderOf(environment.claude)
  const services = { ...openServices(environment), ai }
  const mill = await openMill(environment, log)
  const running = runUntilSignal(mill, createWorker(mill, services, environment))
  console.log('worker ready')
  await running
  await services.close()
}

if (process.argv[1] === import.meta.filename) {
  await main(readEnvironment(), pino({}, pino.destination(2)))
}
