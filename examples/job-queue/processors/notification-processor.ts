/** Persists notifications. One for a user who has been deleted is dropped, which is no failure. */
import type { Context, CreateNotification } from '../app.ts'
import type { Services } from '../services/services.ts'

export interface NotificationResult {
  readonly outcome: 'created' | 'existed' | 'user_gone'
}

export function notificationProcessor({ notifications, users }: Services) {
  return async (payload: CreateNotification, context: Context): Promise<NotificationResult> => {
    const { user_id: userId, kind, entity_id: entityId } = payload
    if (users.find(userId) === undefined) {
      context.log.info({}, 'the user is gone: nothing to notify')
      return { outcome: 'user_gone' }
    }
    const created = notifications.create({ jobId: context.id, userId, kind, entityId })
    return { outcome: created ? 'created' : 'existed' }
  }
}
