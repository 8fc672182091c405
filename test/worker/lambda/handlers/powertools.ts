/** Handlers as users of Powertools write them: one function for each record. */
import {
  BatchProcessor,
  EventType,
  processPartialResponse,
  processPartialResponseSync,
  SqsFifoPartialProcessor,
} from '@aws-lambda-powertools/batch'
import type { Context, SQSEvent, SQSHandler, SQSRecord } from 'aws-lambda'

const processor = new BatchProcessor(EventType.SQS)
const fifoProcessor = new SqsFifoPartialProcessor()

const grade = async ({ body }: SQSRecord): Promise<void> => {
  if (body.startsWith('bad')) throw new Error('This one cannot be graded.')
}

const gradeSync = ({ body }: SQSRecord): void => {
  if (body.startsWith('bad')) throw new Error('This one cannot be graded.')
}

export const handler = async (event: SQSEvent, context: Context): Promise<ReturnType<SQSHandler>> =>
  processPartialResponse(event, grade, processor, { context })

export const fifo = async (event: SQSEvent, context: Context): Promise<ReturnType<SQSHandler>> =>
  processPartialResponseSync(event, gradeSync, fifoProcessor, { context })
