/**
 * A PDF that opens only with a password: 40-bit RC4, the oldest encryption of the format (PDF 1.7, section 7.6.3).
 * It only serves to test that encryption is recognised.
 */
import { createHash } from 'node:crypto'

const padding = Buffer.from(
  '28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a',
  'hex',
)
const permissions = -4
const fileId = Buffer.from('0123456789abcdef0123456789abcdef', 'hex')

export function encryptedPdf(password: string): Uint8Array {
  const user = padded(password)
  const owner = rc4(md5(padded('owner')).subarray(0, 5), user)
  const flags = Buffer.alloc(4)
  flags.writeInt32LE(permissions)
  const key = md5(Buffer.concat([user, owner, flags, fileId])).subarray(0, 5)
  const check = rc4(key, padding)
  const hex = (bytes: Buffer): string => `<${bytes.toString('hex')}>`
  return assembled([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>',
    `<< /Filter /Standard /V 1 /R 2 /O ${hex(owner)} /U ${hex(check)} /P ${permissions} >>`,
  ])
}

function assembled(objects: readonly string[]): Uint8Array {
  let text = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const offset = text.length
    text += `${index + 1} 0 obj\n${object}\nendobj\n`
    return offset
  })
  const start = text.length
  const size = objects.length + 1
  text += `xref\n0 ${size}\n0000000000 65535 f \n`
  for (const offset of offsets) text += `${String(offset).padStart(10, '0')} 00000 n \n`
  const id = `<${fileId.toString('hex')}>`
  text += `trailer\n<< /Size ${size} /Root 1 0 R /Encrypt ${objects.length} 0 R /ID [${id} ${id}] >>\n`
  return Buffer.from(`${text}startxref\n${start}\n%%EOF\n`, 'latin1')
}

function padded(password: string): Buffer {
  return Buffer.concat([Buffer.from(password, 'latin1'), padding]).subarray(0, 32)
}

function md5(bytes: Buffer): Buffer {
  return createHash('md5').update(bytes).digest()
}

function rc4(key: Buffer, content: Buffer): Buffer {
  const state = Uint8Array.from({ length: 256 }, (_, index) => index)
  const at = (index: number): number => state[index & 255] ?? 0
  const swap = (a: number, b: number): void => {
    const kept = at(a)
    state[a & 255] = at(b)
    state[b & 255] = kept
  }
  for (let i = 0, j = 0; i < 256; i += 1) {
    j = (j + at(i) + (key[i % key.length] ?? 0)) & 255
    swap(i, j)
  }
  let i = 0
  let j = 0
  return content.map((byte) => {
    i = (i + 1) & 255
    j = (j + at(i)) & 255
    swap(i, j)
    return byte ^ at(at(i) + at(j))
  }) as Buffer
}
