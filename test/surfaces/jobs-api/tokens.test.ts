import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, SignJWT, UnsecuredJWT } from 'jose'
import { describe, onTestFinished, test } from 'vitest'
import type { JwtAuth } from '../../../src/server.ts'
import { auth, jwtSecret, keys, type Scene, serveAcademy, token } from './scene.ts'

async function statusOf(scene: Scene, bearer: string): Promise<number> {
  return (await scene.call('/jobs', { headers: { authorization: `Bearer ${bearer}` } })).status
}

function signed(
  claims: Readonly<Record<string, unknown>>,
  alg: string,
  key: KeyObject | Uint8Array,
): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg }).sign(key)
}

const soon = Math.floor(Date.now() / 1_000) + 300
const claims = { sub: 'alice', exp: soon, iss: auth.jwt.issuer, aud: auth.jwt.audience }
const secret = new TextEncoder().encode(jwtSecret)

describe('a bearer token', () => {
  test('says by its claims who asks and in which role', async () => {
    const scene = await serveAcademy()
    const own = await scene.enqueue({ owner: 'carol' })
    const seen = async (held: Readonly<Record<string, unknown>>): Promise<number> => {
      const headers = { authorization: `Bearer ${await token(held)}` }
      return (await scene.call(`/jobs/${own}`, { headers })).status
    }
    assert.equal(await seen({ sub: 'carol' }), 200)
    assert.equal(await seen({ sub: 'carol', role: 'user' }), 200)
    assert.equal(await seen({ sub: 'dave' }), 404)
    assert.equal(await seen({ sub: 'dave', role: 'internal' }), 404)
    assert.equal(await seen({ sub: 'dave', role: 'admin' }), 200)
  })

  test.each([
    ['has expired', () => signed({ ...claims, exp: soon - 3_600 }, 'HS256', secret)],
    ['never expires', () => signed({ ...claims, exp: undefined }, 'HS256', secret)],
    ['is not valid yet', () => signed({ ...claims, nbf: soon }, 'HS256', secret)],
    ['names nobody', () => signed({ ...claims, sub: undefined }, 'HS256', secret)],
    ['names an empty subject', () => signed({ ...claims, sub: '' }, 'HS256', secret)],
    ['names a subject with a NUL', () => signed({ ...claims, sub: 'a\0' }, 'HS256', secret)],
    ['has a role that does not exist', () => signed({ ...claims, role: 'root' }, 'HS256', secret)],
    ['has a list of roles', () => signed({ ...claims, role: ['admin'] }, 'HS256', secret)],
    ['is of another issuer', () => signed({ ...claims, iss: 'x' }, 'HS256', secret)],
    ['is for another audience', () => signed({ ...claims, aud: 'x' }, 'HS256', secret)],
    ['has another signature', () => signed(claims, 'HS256', Buffer.alloc(32, 1))],
    ['is not signed', async () => new UnsecuredJWT(claims).encode()],
    ['is no token', async () => 'a.b.c'],
    ['is empty inside', async () => '..'],
  ])('that %s is refused', async (_name, make) => {
    const scene = await serveAcademy()
    assert.equal(await statusOf(scene, await make()), 401)
    assert.equal(await statusOf(scene, await signed(claims, 'HS256', secret)), 200)
  })

  test('may be any API key, and X-API-Key goes first', async () => {
    const scene = await serveAcademy()
    assert.equal(await statusOf(scene, keys.alice), 200)
    assert.equal(await statusOf(scene, keys.alice.slice(1)), 401)
    const headers = { authorization: `Bearer ${keys.alice}` }
    assert.equal((await scene.call('/jobs', { key: 'wrong', headers })).status, 401)
    const basic = { authorization: `Basic ${btoa(`alice:${keys.alice}`)}` }
    assert.equal((await scene.call('/jobs', { headers: basic })).status, 401)
  })

  test('is not taken as an API key, nor the other way round', async () => {
    const scene = await serveAcademy()
    assert.equal((await scene.call('/jobs', { key: await token({ sub: 'alice' }) })).status, 401)
  })

  const pairs = {
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    EdDSA: generateKeyPairSync('ed25519'),
  }

  test.each(Object.entries(pairs))('is checked with a public key of %s', async (alg, pair) => {
    const publicKey = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const scene = await serveAcademy({ auth: { jwt: { publicKey } } })
    assert.equal(await statusOf(scene, await signed(claims, alg, pair.privateKey)), 200)
    // The public key is no secret: whoever signs with it as if it were one proves nothing.
    assert.equal(await statusOf(scene, await signed(claims, 'HS256', Buffer.from(publicKey))), 401)
    assert.equal(await statusOf(scene, await signed(claims, 'HS256', secret)), 401)
    for (const [other, { privateKey }] of Object.entries(pairs)) {
      if (other !== alg)
        assert.equal(await statusOf(scene, await signed(claims, other, privateKey)), 401)
    }
  })

  test('is not checked with a private key', async () => {
    const pem = pairs.ES256.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const jwt: JwtAuth = { publicKey: pem }
    await assert.rejects(serveAcademy({ auth: { jwt } }), { code: 'invalid_argument' })
  })

  test('is checked with the published keys of its issuer, and 503 says that they are out of reach', async () => {
    const jwk = { ...(await exportJWK(pairs.ES256.publicKey)), kid: 'k', alg: 'ES256' }
    let isUp = false
    const issuer = createServer((_request, response) => {
      response.statusCode = isUp ? 200 : 500
      response.end(JSON.stringify({ keys: [jwk] }))
    })
    await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void issuer.close())
    const { port } = issuer.address() as AddressInfo
    const scene = await serveAcademy({ auth: { jwt: { jwksUrl: `http://127.0.0.1:${port}/` } } })
    const good = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .sign(pairs.ES256.privateKey)
    assert.equal(await statusOf(scene, good), 503)
    isUp = true
    assert.equal(await statusOf(scene, good), 200)
    assert.equal(await statusOf(scene, await signed(claims, 'RS256', pairs.RS256.privateKey)), 401)
    assert.equal(await statusOf(scene, await signed(claims, 'HS256', secret)), 401)
  })
})
