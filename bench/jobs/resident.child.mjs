/**
 * A worker process with the built package, without TypeScript in memory. It reports its resident memory in
 * megabytes on request.
 */
const [entry, data, library] = process.argv.slice(2)
const { defineApp, jobs, open } = await import(entry)
const queues = { bench: jobs({ types: { OCR: await schema() }, name: 'bench' }) }
const mill = await open(defineApp('bench', { queues }), { data })
mill.worker({ poll: ['bench'], handle: { OCR: () => undefined } }).start()

process.on('message', ({ id }) => process.send({ id, value: process.memoryUsage.rss() / 2 ** 20 }))
process.on('disconnect', () => process.exit(0))

/** Loaded on demand, so that only the chosen library takes memory. */
async function schema() {
  if (library === 'zod') {
    const { z } = await import('zod')
    return z.string().max(1_000)
  }
  const { maxLength, pipe, string } = await import('valibot')
  return pipe(string(), maxLength(1_000))
}
