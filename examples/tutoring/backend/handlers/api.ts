/** The API as a Lambda function. */
import { handle, type LambdaContext, type LambdaEvent } from 'hono/aws-lambda'
import { createApi } from '../api/create-api.ts'
import { openBackend } from '../open-backend.ts'

let answer: ReturnType<typeof handle> | undefined

export const handler = (event: LambdaEvent, context?: LambdaContext) => {
  answer ??= handle(createApi(openBackend()))
  return answer(event, context)
}
