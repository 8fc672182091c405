/** Paging with `MaxResults` and `NextToken`. The token is the encoded name of the last queue. */
import { decodeBase64 } from '../base64.ts'
import { invalidParameter, invalidValue } from '../refusals.ts'

export interface PageInput {
  readonly NextToken?: string | undefined
  readonly MaxResults?: number | undefined
}

export interface PageRequest {
  readonly request: { readonly limit: number; readonly after?: string }
  /** The token of the next page. Only requests with `MaxResults` get one. */
  answer(next: string | undefined): { readonly NextToken?: string }
}

const resultsMax = 1_000

export function pageRequest({ NextToken, MaxResults }: PageInput): PageRequest {
  if (MaxResults !== undefined && (MaxResults < 1 || MaxResults > resultsMax)) {
    throw invalidValue({
      parameter: 'MaxResults',
      value: MaxResults,
      reason: `MaxResults must be an integer between 1 and ${resultsMax}.`,
    })
  }
  const after = NextToken === undefined ? undefined : readToken(NextToken)
  return {
    request: { limit: MaxResults ?? resultsMax, ...(after !== undefined && { after }) },
    answer: (next) =>
      next === undefined || MaxResults === undefined
        ? {}
        : { NextToken: Buffer.from(next).toString('base64') },
  }
}

function readToken(token: string): string {
  const bytes = decodeBase64(token)
  if (bytes !== undefined && bytes.length > 0) return Buffer.from(bytes).toString()
  throw invalidParameter('Invalid or expired next token.')
}
