import { describe, test } from 'vitest'
import { assertRefused, verify, withHeader } from './signature-checks.ts'
import { presigned, signedAt } from './signed-request.ts'

describe('a presigned request', () => {
  test('expires when it says so', async () => {
    const request = await presigned({}, { expiresIn: 10 })
    verify(request, signedAt + 10_000)
    assertRefused(request, 'InvalidSignatureException', {
      now: signedAt + 11_000,
      message:
        /^Signature expired: 20260131T095959Z is now earlier than 20260131T100000Z \(20260131T100010Z - 10 sec\.\)$/,
    })
  })

  test('holds for a week at most', async () => {
    const request = await presigned({}, { expiresIn: 604_800 })
    verify(request, signedAt + 604_800_000)
    for (const seconds of ['0', '604801', '-1', '1.5', '1e3', '', 'soon', '00000001']) {
      const edited = { ...request, url: request.url.replace('=604800', `=${seconds}`) }
      const message = /X-Amz-Expires must be a whole number of seconds from 1 to 604800/
      assertRefused(edited, 'IncompleteSignatureException', { message })
    }
  })

  test('without a life of its own expires after fifteen minutes', async () => {
    const request = await presigned()
    const url = request.url.replace('&X-Amz-Expires=60', '')
    const late = { now: signedAt + 901_000, message: /^Signature expired/ }
    assertRefused({ ...request, url }, 'InvalidSignatureException', late)
    assertRefused({ ...request, url }, 'InvalidSignatureException', { message: /does not match/ })
  })

  test.each(['Credential', 'Signature', 'SignedHeaders', 'Date'])(
    'is incomplete without X-Amz-%s',
    async (name) => {
      const request = await presigned()
      const url = request.url.replace(new RegExp(`&X-Amz-${name}=[^&]*`), '')
      const message = new RegExp(`must include 'X-Amz-${name}'\\. Re-examine`)
      assertRefused({ ...request, url }, 'IncompleteSignatureException', { message })
    },
  )

  test('is no signed request without an algorithm', async () => {
    const request = await presigned()
    const url = request.url.replace(/&X-Amz-Algorithm=[^&]*/, '')
    assertRefused({ ...request, url }, 'MissingAuthenticationTokenException')
  })

  test('must not have a part twice', async () => {
    const request = await presigned()
    const url = `${request.url}&X-Amz-Expires=600`
    assertRefused({ ...request, url }, 'IncompleteSignatureException', { message: /twice/ })
  })

  test('is not taken for another one because of broken escapes', async () => {
    const request = await presigned({ query: { Action: 'SendMessage', MessageBody: '100%' } })
    for (const broken of ['%', '%2', '%zz', '%FF', '%00']) {
      const url = request.url.replace('%25', broken)
      assertRefused({ ...request, url }, 'InvalidSignatureException')
    }
  })

  test('does not need the date header that a proxy added', async () => {
    verify(withHeader(await presigned(), 'date', 'Sat, 31 Jan 2026 10:00:00 GMT'), signedAt)
  })
})
