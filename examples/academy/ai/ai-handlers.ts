/** The handlers of the AI queues, by job type. */
import type { TextRecognition } from '../../shared/text-recognition.ts'
import type { AiJob, AiJobType } from '../app.ts'
import type { OpenAcademy } from '../open-academy.ts'
import { type Attempt, withRecord } from '../with-record.ts'
import { detectStatus } from './detect-status.ts'
import { type ReadSheet, readAnswers } from './read-answers.ts'

export interface AiHandling extends Pick<OpenAcademy, 'records' | 'storage'> {
  readonly ocr: TextRecognition
  readonly print: (line: string) => void
}

export type AiHandler = (job: AiJob, context: Attempt) => Promise<unknown>

interface Work<Result> {
  readonly run: (image: Buffer, job: AiJob) => Promise<Result>
  readonly describe: (result: Result) => string
}

export function aiHandlers(handling: AiHandling): Readonly<Record<AiJobType, AiHandler>> {
  const { records, storage, ocr, print } = handling
  function recorded<Result>({ run, describe }: Work<Result>): AiHandler {
    return (job, context) =>
      withRecord({
        records,
        job: { jobId: job.job_id, jobType: job.job_type },
        context,
        print,
        run: async () => run(await storage.read(job.payload.file_key), job),
        describe,
      })
  }
  return {
    OCR: recorded({
      // The premium tier includes the positions of the lines.
      run: (image, { tier }) => ocr.read(image, { withLines: tier === 'premium' }),
      describe: ({ text, lines }) =>
        `${text.split(/\s+/).length} words${lines ? ` in ${lines.length} lines` : ''}`,
    }),
    OMR: recorded({
      run: readSheet,
      describe: ({ answers }) => `${answers.length} questions read`,
    }),
    STATUS_DETECTION: recorded({
      run: detectStatus,
      describe: ({ status, answered, empty, multiple }) =>
        `${status}, ${answered} answered, ${empty} empty, ${multiple} with more than one mark`,
    }),
  }
}

async function readSheet(image: Buffer): Promise<ReadSheet> {
  const read = await readAnswers(image)
  if (read === undefined) throw new Error('The image does not show a complete answer sheet.')
  return read
}
