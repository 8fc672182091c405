/**
 * Sends e-mail. After the server accepts a message, it is recorded, so a job that runs again sends nothing. A
 * crash between the two sends the message again with the same Message-ID, by which mail systems recognise
 * duplicates.
 */
import { createTransport, type Transporter } from 'nodemailer'
import type { Database } from '../../shared/database.ts'

export type MailTemplate = 'welcome' | 'document_ready' | 'course_ready'

export interface Mail {
  /** The job that sends it. */
  readonly jobId: string
  readonly to: string
  readonly template: MailTemplate
}

export interface MailServiceOptions {
  readonly database: Database
  readonly smtpUrl: string
  readonly from: string
}

const templates: Readonly<Record<MailTemplate, { subject: string; text: string }>> = {
  welcome: { subject: 'Welcome', text: 'Your account is ready.' },
  document_ready: { subject: 'Your document is ready', text: 'You can search its text now.' },
  course_ready: { subject: 'Your course is ready', text: 'All its lessons have been written.' },
}

export class MailService {
  readonly #database: Database
  readonly #transport: Transporter
  readonly #from: string

  constructor({ database, smtpUrl, from }: MailServiceOptions) {
    this.#database = database
    this.#transport = createTransport(smtpUrl)
    this.#from = from
  }

  /** Returns false if this job already sent it. */
  async send({ jobId, to, template }: Mail): Promise<boolean> {
    const sent = this.#database.get('SELECT 1 FROM sent_mail WHERE job_id = ?', jobId)
    if (sent !== undefined) return false
    const messageId = `<${jobId}@jobs.academy.example>`
    await this.#transport.sendMail({ from: this.#from, to, messageId, ...templates[template] })
    const sql = 'INSERT OR IGNORE INTO sent_mail (job_id, message_id, sent_at) VALUES (?, ?, ?)'
    this.#database.run(sql, jobId, messageId, Date.now())
    return true
  }

  close(): void {
    this.#transport.close()
  }
}
