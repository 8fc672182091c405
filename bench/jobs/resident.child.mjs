/**
 * A worker process as users have it: the built package, without TypeScript in memory. Answers how many
 * megabytes it occupies when it is asked.
 */
const [entry, data, library] = process.argv.slice(2)
const { defineApp, jobs, open } = await import(entry)
const queues = { bench: jobs({ types: { OCR: await schema() }, name: 'bench' }) }
const mill = await open(defineApp('bench', { queues }), { data })
mill.worker({ poll: ['bench'], handle: { OCR: () => undefined } }).start()

process.on('message', ({ id }) => process.send({ id, value: process.memoryUsage.rss() / 2 ** 20 }))
process.on('disconnect', () => process.exit(0))

/** Loaded when it is asked for: what is not loaded occupies nothing. */
async function schema() {
  if (library === 'zod') {
    const { z } = await import('zod')
    return z.string().max(1_000)
  }
  const { maxLength, pipe, string } = await import('valibot')
  return pipe(string(), maxLength(1_000))
}
