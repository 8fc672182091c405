/** The environment variables of the webhooks and the worker. */
import { join } from 'node:path'
import { z } from 'zod'
import { claudeSettingsOf, claudeVariables } from '../shared/claude.ts'
import { readVariables } from '../shared/read-variables.ts'
import { defaultParameters } from './app.ts'

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
  PROJECT_PREFIX: name(defaultParameters.projectPrefix, 40),
  ENVIRONMENT_NAME: name(defaultParameters.environmentName, 15),
  /** The store: the URL of a Postgres database, or a folder. Default: REPLIES_DATA. */
  MILLRACE_STORE: z.string().optional(),
  /** The folder of the store and of the example's own databases. */
  REPLIES_DATA: z.string().min(1).default('.millrace/replies'),
  /** The wait before a failed reply is retried; it doubles each time. */
  REPLIES_RETRY_MS: whole(5_000, 0, 3_600_000),
  /** Without a key, replies are written offline. */
  ...claudeVariables,
})

const WebhookVariables = Variables.extend({
  PORT: whole(3_000, 0, 65_535),
  /** The URL that providers call. Default: the address of this process. */
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  TWILIO_AUTH_TOKEN: z.string().min(16),
  EMAIL_WEBHOOK_SECRET: z.string().min(16),
})

export type Environment = ReturnType<typeof readEnvironment>

/** Throws one error that names every wrong variable, without the values. */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  return environmentOf(readVariables(Variables, variables))
}

/** The same for the webhooks. Only they have the providers' secrets. */
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
    store: data.MILLRACE_STORE ?? data.REPLIES_DATA,
    data: data.REPLIES_DATA,
    conversationsFile: join(data.REPLIES_DATA, 'conversations.db'),
    answersFile: join(data.REPLIES_DATA, 'answers.db'),
    claude: claudeSettingsOf(data),
  } as const
}
