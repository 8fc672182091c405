/** Sends e-mail. If the mail server fails, the queue retries. */
import type { Context, SendEmail } from '../app.ts'
import type { Services } from '../services/services.ts'

export function emailProcessor({ mail }: Services) {
  return async ({ to, template }: SendEmail, context: Context): Promise<{ sent: boolean }> => ({
    sent: await mail.send({ jobId: context.id, to, template }),
  })
}
