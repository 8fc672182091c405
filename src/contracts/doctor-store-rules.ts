/** The doctor's rules about the store itself. */
import type { DoctorRule } from './doctor-rule.ts'

export const storeRules: readonly DoctorRule[] = [
  {
    name: 'backups-by-database',
    severity: 'hint',
    finds: 'a store that only the tools of its database can back up',
    look: ({ store }) => {
      if (store === undefined || store.backups) return []
      return [
        {
          subject: store.name,
          reason: 'Millrace does not copy this store, so `millrace backup` refuses to.',
          fix: 'Back it up with the tools of its database. `millrace backup FILE` prints the command.',
        },
      ]
    },
  },
]
