/** What an invoice is, and how it becomes a mail. */
export interface Invoice {
  readonly to: string
  readonly cents: number
}

export interface Mail {
  readonly version: string
  readonly to: string
  readonly text: string
}

const version = 'v1'

export function mailOf({ to, cents }: Invoice): Mail {
  if (!Number.isInteger(cents)) throw new TypeError('an invoice has a number of cents')
  return { version, to, text: `${(cents / 100).toFixed(2)} ${process.env['CURRENCY']}` }
}
