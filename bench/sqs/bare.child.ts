/**
 * The limit: a bare `node:http` server that reads a request and returns a fixed response for the action, of a
 * realistic size.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fixedAnswers } from './fixed-answers.ts'

const server = createServer((request, response) => {
  const target = String(request.headers['x-amz-target'])
  const body = fixedAnswers[target.slice(target.indexOf('.') + 1)] ?? '{}'
  request.on('data', () => undefined)
  request.on('end', () => {
    response.writeHead(200, {
      'content-type': 'application/x-amz-json-1.0',
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  })
})
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
