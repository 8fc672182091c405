/** Opens the database and the services on top of it. */
import { join } from 'node:path'
import { Database } from '../../shared/database.ts'
import { TextRecognition } from '../../shared/text-recognition.ts'
import type { Environment } from '../environment.ts'
import { AiOutputs } from './ai-outputs.ts'
import { type AiProvider, offlineProvider } from './ai-provider.ts'
import { CoursesService } from './courses-service.ts'
import { DocumentsService } from './documents-service.ts'
import { MailService } from './mail-service.ts'
import { NotificationsService } from './notifications-service.ts'
import { RealtimeEvents } from './realtime-events.ts'
import { schema } from './schema.ts'
import { SearchIndex } from './search-index.ts'
import { UsersService } from './users-service.ts'

export interface Services {
  readonly users: UsersService
  readonly documents: DocumentsService
  readonly recognition: Pick<TextRecognition, 'read'>
  readonly search: SearchIndex
  readonly mail: MailService
  readonly notifications: NotificationsService
  readonly courses: CoursesService
  readonly events: RealtimeEvents
  readonly outputs: AiOutputs
  readonly ai: AiProvider
  close(): Promise<void>
}

type Settings = Pick<Environment, 'dataDirectory' | 'smtpUrl' | 'mailFrom'>

export function openServices(settings: Settings): Services {
  const { dataDirectory, smtpUrl, mailFrom: from } = settings
  const database = new Database(join(dataDirectory, 'academy.db'), schema)
  const events = new RealtimeEvents(database)
  const recognition = new TextRecognition()
  const mail = new MailService({ database, smtpUrl, from })
  return {
    users: new UsersService(database),
    documents: new DocumentsService(database, join(dataDirectory, 'uploads')),
    recognition,
    search: new SearchIndex(database),
    mail,
    notifications: new NotificationsService(database),
    courses: new CoursesService(database, events),
    events,
    outputs: new AiOutputs(database),
    ai: offlineProvider,
    async close() {
      await recognition.close()
      mail.close()
      database.close()
    },
  }
}
