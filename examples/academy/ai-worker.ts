/** The AI worker process. It runs two AI jobs at a time until it is stopped. */
import { runUntilSignal } from 'millrace'
import { TextRecognition } from '../shared/text-recognition.ts'
import { aiHandlers } from './ai/ai-handlers.ts'
import { createAiWorker } from './ai/create-ai-worker.ts'
import { readEnvironment } from './environment.ts'
import { openAcademy } from './open-academy.ts'
import { printerOf } from './print.ts'

const environment = readEnvironment()
const academy = await openAcademy(environment)
const ocr = new TextRecognition()
const print = printerOf(`AI worker ${environment.AI_WORKER_MODE}`)
const handle = aiHandlers({ ...academy, ocr, print })
await runUntilSignal(academy, createAiWorker({ mill: academy.mill, environment, handle }))
await ocr.close()
