/** Strict base64. Node's own decoder skips invalid characters. */
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Returns undefined if the text is not base64. */
export function decodeBase64(text: string): Uint8Array | undefined {
  return text.length % 4 === 0 && base64.test(text) ? Buffer.from(text, 'base64') : undefined
}
