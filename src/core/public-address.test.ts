import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { isPublicAddress } from './public-address.ts'

describe('an address of the open internet', () => {
  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '198.17.255.255',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001:82a::200e',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
  ])('%s', (address) => {
    assert.equal(isPublicAddress(address), true)
  })
})

describe('an address that is set aside', () => {
  test.each([
    ['this machine', '127.0.0.1'],
    ['this machine, elsewhere', '127.255.255.254'],
    ['no address', '0.0.0.0'],
    ['a private network', '10.0.0.1'],
    ['a private network', '172.16.0.1'],
    ['a private network', '172.31.255.255'],
    ['a private network', '192.168.1.1'],
    ['a provider', '100.64.0.1'],
    ['the link, where clouds keep credentials', '169.254.169.254'],
    ['documentation', '203.0.113.9'],
    ['benchmarks', '198.19.0.1'],
    ['many receivers', '224.0.0.1'],
    ['everybody', '255.255.255.255'],
    ['this machine', '::1'],
    ['no address', '::'],
    ['this machine, mapped', '::ffff:127.0.0.1'],
    ['this machine, mapped', '::ffff:7f00:1'],
    ['this machine, mapped, written out', '0:0:0:0:0:ffff:7f00:0001'],
    ['the link, mapped', '::ffff:a9fe:a9fe'],
    ['a private network, mapped', '::FFFF:10.1.2.3'],
    ['this machine, compatible', '::127.0.0.1'],
    ['this machine, translated', '64:ff9b::7f00:1'],
    ['this machine, by 6to4', '2002:7f00:1::'],
    ['by Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['a private network', 'fd12:3456:789a::1'],
    ['a private network', 'fc00::1'],
    ['the link', 'fe80::1'],
    ['the link, with a zone', 'fe80::1%eth0'],
    ['a site', 'fec0::1'],
    ['many receivers', 'ff02::1'],
    ['documentation', '2001:db8::1'],
    ['documentation', '3fff::1'],
  ])('%s: %s', (_what, address) => {
    assert.equal(isPublicAddress(address), false)
  })
})

describe('a text that is no address is not public', () => {
  test.each([
    '',
    'localhost',
    '1.2.3',
    '256.1.1.1',
    '8.8.8.8.8',
    '0x8.8.8.8',
    ':::',
    '1::2::3',
    '12345::',
    '2606:4700',
    '::8.8.8.8:1',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7::8:9',
  ])('%s', (text) => {
    assert.equal(isPublicAddress(text), false)
  })
})
