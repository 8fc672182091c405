/**
 * Opens the app on the store of a running `millrace dev`, and closes it again. The template has made
 * the queues by then; this adds what a template has no word for, such as the kill switches they obey.
 */
import { open } from '../../../src/index.ts'
import { tutoring } from '../backend/app.ts'

const mill = await open(tutoring)
for (const { name } of Object.values(mill.queues)) console.log(name)
await mill.close()
