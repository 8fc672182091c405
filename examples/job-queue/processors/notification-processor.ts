/** Stores notifications. A notification for a deleted user is dropped, which is not a failure. */
import type { Context, CreateNotification } from '../app.ts'
import type { Services } from '../services/services.ts'

export interface NotificationResult {
  readonly outcome: 'created' | 'existed' | 'user_gone'
}

export function notificationProcessor({ notifications, users }: Services) {
  return async (payload: CreateNotification, context: Context): Promise<NotificationResult> => {
    const { user_id: userId, kind, entity_id: entityId } = payload
    if (users.find(userId) === undefined) {
      context.log.info({}, 'the user was deleted: no notification')
      return { outcome: 'user_gone' }
    }
    const created = notifications.create({ jobId: context.id, userId, kind, entityId })
    return { outcome: created ? 'created' : 'existed' }
  }
}
