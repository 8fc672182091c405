/** Base64 as both protocols carry bytes: strict, since Node's own reader skips what it cannot read. */
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The bytes, or undefined when the text is not base64. */
export function decodeBase64(text: string): Uint8Array | undefined {
  return text.length % 4 === 0 && base64.test(text) ? Buffer.from(text, 'base64') : undefined
}
