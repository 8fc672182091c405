/** Creates the input files of the demo: a lesson, a page of text, and two answer sheets. */
import type { Storage } from '../storage.ts'
import { type Marks, scanAnswerSheet } from './draw-answer-sheet.ts'
import { drawPage } from './draw-page.ts'
import { makeLessonVideo } from './make-lesson-video.ts'

export const files = {
  lesson: 'videos/tenant-1/video-123.mp4',
  broken: 'videos/tenant-1/video-124.mp4',
  page: 'scans/tenant-1/exam-page.png',
  sheet: 'scans/tenant-1/answer-sheet.jpg',
  wrongPage: 'scans/tenant-1/wrong-page.jpg',
} as const

/** Question 3 is empty, and question 7 has two marks. */
export const studentMarks: Marks = {
  ...{ 1: ['A'], 2: ['B'], 3: [], 4: ['D'], 5: ['E'], 6: ['A'], 7: ['A', 'C'], 8: ['C'] },
  ...{ 9: ['D'], 10: ['E'], 11: ['A'], 12: ['B'], 13: ['C'], 14: ['D'], 15: ['E'], 16: ['A'] },
  ...{ 17: ['B'], 18: ['C'], 19: ['D'], 20: ['E'] },
}

const examPage = {
  title: 'Mathematics, mid-term exam',
  lines: ['The area of a circle is 28.27', 'What is its radius?'],
}

export async function makeInputs(storage: Storage): Promise<void> {
  await makeLessonVideo(storage.path(files.lesson))
  await storage.write(files.page, await drawPage(examPage, { width: 640, height: 240 }))
  await storage.write(files.sheet, await scanAnswerSheet(studentMarks))
  // An interrupted upload and a scan of the wrong page. `repairInputs` replaces both.
  await storage.write(files.broken, 'the first bytes of a vid')
  await storage.write(files.wrongPage, await drawPage(examPage, { width: 640, height: 240 }))
}

/** Uploads the two bad files again, correctly. */
export async function repairInputs(storage: Storage): Promise<void> {
  await storage.write(files.broken, await storage.read(files.lesson))
  await storage.write(files.wrongPage, await storage.read(files.sheet))
}
