/** The steps of the demo, over HTTP and the command line only. */
import assert from 'node:assert/strict'
import { type IngestionClient, send } from './ingestion-client.ts'
import { type IngestionSystem, kbId } from './ingestion-system.ts'
import { longChapters, millChapters, sampleDocx, samplePdf } from './sample-files.ts'

export type Print = (line: string) => void

export async function uploadAndSearch(client: IngestionClient, print: Print): Promise<void> {
  const files = [
    ['mills.pdf', await samplePdf(millChapters)],
    ['handbook.docx', await sampleDocx(millChapters)],
  ] as const
  const ids = await Promise.all(
    files.map(async ([name, content]) => {
      const id = await client.upload(kbId, name, content)
      print(`Uploaded ${name}, ${content.byteLength} bytes, as ${id}.`)
      return id
    }),
  )
  for (const id of ids) {
    const { filename, status, pages, unitsTotal } = await client.ended(kbId, id)
    assert.equal(status, 'ready')
    print(`${filename} is ${status}: ${pages.length} pages, ${unitsTotal} unit.`)
    const image = await client.ask(pages[1]?.image ?? '')
    assert.equal(image.headers.get('content-type'), 'image/png')
    print(`  Page 2 comes from the cache, ${(await image.arrayBuffer()).byteLength} bytes of PNG.`)
  }
  const found = await client.search(kbId, 'how are furrows cut?')
  assert.deepEqual(
    found
      .slice(0, 2)
      .map(({ documentId }) => documentId)
      .sort(),
    ids.toSorted(),
  )
  for (const { filename, sectionPath, pageFrom } of found.slice(0, 2)) {
    print(`"How are furrows cut?" is found in ${filename}, page ${pageFrom}, "${sectionPath}".`)
  }
}

export function tellCosts({ lines }: IngestionSystem, print: Print): void {
  for (const line of lines.filter((one) => one.includes('"document ready"'))) {
    const cost = JSON.parse(line)
    print(
      `The log: ${cost.units} unit of ${cost.models}, ${cost.cache_creation_input_tokens} tokens written to ` +
        `the cache and ${cost.cache_read_input_tokens} read from it, $${Number(cost.cost_usd).toFixed(4)}.`,
    )
  }
}

const longPages = 16

/** One unit per page, at most three at once because of the ceiling, and one finalize job. */
export async function uploadLong(
  system: IngestionSystem,
  client: IngestionClient,
  print: Print,
): Promise<void> {
  const content = await samplePdf(longChapters(longPages))
  const id = await client.upload(kbId, 'long.pdf', content)
  print(`Uploaded long.pdf, ${longPages} pages.`)
  print(`$ npx millrace flow show ingestion-dev-extraction ${id}`)
  const { status, pages, unitsTotal } = await client.ended(kbId, id)
  assert.deepEqual([status, pages.length, unitsTotal], ['ready', longPages, longPages])
  const flow = JSON.parse(
    await system.millrace('flow', 'show', 'ingestion-dev-extraction', id, '--json'),
  )
  const { units } = flow
  print(`  The flow is ${flow.status}: ${units.done} of ${units.total} units done.`)
  assert.ok(system.claude.mostAtOnce <= 3)
  print(`  The model had at most ${system.claude.mostAtOnce} requests at once.`)
  const ends = system.lines.filter((line) => line.includes(id) && line.includes('"document ready"'))
  assert.equal(ends.length, 1)
  print('  The document was finalized once.')
}

export async function refuse(
  { member, stranger }: { readonly member: IngestionClient; readonly stranger: IngestionClient },
  print: Print,
): Promise<void> {
  const request = { filename: 'mills.pdf', fileSize: 1 }
  const foreign = await stranger.askForUpload(kbId, request)
  print(`Another organisation asks to upload: ${foreign.status}.`)
  const path = await member.askForUpload(kbId, { ...request, filename: '../mills.pdf' })
  print(`A file name with a path: ${path.status}.`)
  const huge = await member.askForUpload(kbId, { ...request, fileSize: 200 * 2 ** 20 })
  print(`A file of 200 MB: ${huge.status}.`)
  const minted = await member.mint(kbId, 'mills.pdf', new Uint8Array(1))
  const uploadUrl = minted.uploadUrl.replace(/max=\d+/, 'max=999999999')
  const altered = await send({ ...minted, uploadUrl }, new Uint8Array(1))
  print(`An altered upload URL: ${altered.status}.`)
  assert.deepEqual(
    [foreign, path, huge, altered].map(({ status }) => status),
    [404, 400, 413, 403],
  )
  const broken = new TextEncoder().encode('%PDF-1.7\nThe rest is missing.')
  const id = await member.upload(kbId, 'broken.pdf', broken)
  const { status, failure } = await member.ended(kbId, id)
  assert.equal(status, 'failed')
  print(`A broken PDF is ${status}: "${failure}" No dead letter, no alarm.`)
}

/** The model returns no usable answer for one unit until it is repaired. */
export async function failAndReplay(
  system: IngestionSystem,
  client: IngestionClient,
  print: Print,
): Promise<void> {
  system.claude.confusedBy = 'apprenticeship'
  const id = await client.upload(kbId, 'again.docx', await sampleDocx(millChapters))
  const waiting = await client.until(kbId, id, ({ unitsDead }) => unitsDead === 1)
  assert.equal(waiting.status, 'ingesting')
  print(`The model fails a unit of ${waiting.filename} three times. The document waits for it.`)
  system.claude.confusedBy = undefined
  print('The model is repaired. $ npx millrace dlq redrive extract-jobs-dlq --yes')
  await system.millrace('dlq', 'redrive', 'extract-jobs-dlq', '--yes')
  const { status } = await client.ended(kbId, id)
  assert.equal(status, 'ready')
  print(`${waiting.filename} is ${status}.`)
}

/** Uploads without a worker. Then a worker drains the queues and exits. */
export async function drainBacklog(
  system: IngestionSystem,
  client: IngestionClient,
  print: Print,
): Promise<void> {
  const content = await sampleDocx(millChapters)
  const ids = await Promise.all(
    ['a', 'b', 'c'].map((name) => client.upload(kbId, `${name}.docx`, content)),
  )
  print('Three documents are uploaded while no worker runs.')
  const worker = await system.startWorker('--drain')
  const code = await worker.ended
  assert.equal(code, 0)
  for (const id of ids) assert.equal((await client.document(kbId, id)).status, 'ready')
  print('A worker with --drain made all three ready and exited.')
}

export async function runInline(client: IngestionClient, print: Print): Promise<void> {
  const id = await client.upload(kbId, 'inline.docx', await sampleDocx(millChapters))
  const { status } = await client.ended(kbId, id)
  assert.equal(status, 'ready')
  print(`With INGESTION_RUNTIME=inline the API process needs no worker: inline.docx is ${status}.`)
}
