import { InvalidArgumentError } from 'commander'

export function webAddress(text: string): string {
  const url = URL.parse(text)
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url.href
  throw new InvalidArgumentError('It must be an address that begins with http:// or https://.')
}
