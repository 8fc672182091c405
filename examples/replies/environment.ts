/** What the processes of the replies engine read from their environment. */
import { join } from 'node:path'
import { z } from 'zod'
import { claudeSettingsOf, claudeVariables } from '../shared/claude.ts'
import { readVariables } from '../shared/read-variables.ts'
import { defaultPlace } from './app.ts'

const whole = (fallback: number, least: number, most: number) =>
  z.coerce.number().int().min(least).max(most).default(fallback)

const name = (fallback: string, most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[\w-]+$/, 'expected letters, digits, - and _')
    .default(fallback)

const Variables = z.object({
  /** The parameters of template.yaml. */
  PROJECT_PREFIX: name(defaultPlace.projectPrefix, 40),
  ENVIRONMENT_NAME: name(defaultPlace.environmentName, 15),
  /** The store with the queues; the example's own files lie beside it. */
  REPLIES_DATA: z.string().min(1).default('.millrace/replies'),
  /** The wait before an answer that failed is tried again; it doubles. */
  REPLIES_RETRY_MS: whole(5_000, 0, 3_600_000),
  /** Without a key, answers are written offline. */
  ...claudeVariables,
})

const WebhookVariables = Variables.extend({
  PORT: whole(3_000, 0, 65_535),
  /** Under which providers call the webhooks. Default: where this process listens. */
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  TWILIO_AUTH_TOKEN: z.string().min(16),
  EMAIL_WEBHOOK_SECRET: z.string().min(16),
})

export type Environment = ReturnType<typeof readEnvironment>

/** Throws one error that names every variable with a wrong value, and quotes none of the values. */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  return environmentOf(readVariables(Variables, variables))
}

/** The same for the webhooks, which alone have the secrets of the providers. */
export function readWebhookEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  const data = readVariables(WebhookVariables, variables)
  return {
    ...environmentOf(data),
    port: data.PORT,
    publicUrl: data.PUBLIC_URL?.replace(/\/+$/, ''),
    twilioAuthToken: data.TWILIO_AUTH_TOKEN,
    emailSecret: data.EMAIL_WEBHOOK_SECRET,
  } as const
}

function environmentOf(data: z.infer<typeof Variables>) {
  return {
    settings: {
      projectPrefix: data.PROJECT_PREFIX,
      environmentName: data.ENVIRONMENT_NAME,
      retryMs: data.REPLIES_RETRY_MS,
    },
    data: data.REPLIES_DATA,
    conversationsFile: join(data.REPLIES_DATA, 'conversations.db'),
    answersFile: join(data.REPLIES_DATA, 'answers.db'),
    claude: claudeSettingsOf(data),
  } as const
}
