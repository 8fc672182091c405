/** A worker of the press, until it is killed or kills itself. */
import { open, replaceRows } from '../../src/index.ts'
import { childArgument, tellParent } from '../support/child-program.ts'
import { type BegunMessage, type PressArgument, press } from './press.ts'

const { data, concurrency } = childArgument<PressArgument>()
const mill = await open(press, { data })
const begun = (): void => tellParent<BegunMessage>({ kind: 'begun' })
const die = (): void => void process.kill(process.pid, 'SIGKILL')
const last = new Set<string>()

await mill
  .worker({
    poll: ['pages', 'ends', 'steps'],
    concurrency,
    handle: {
      pages: ({ document, page, kills }, context) => {
        begun()
        if (kills === 'after') last.add(context.id)
        context.within((db) => {
          const rows = ['upper', 'lower'].map((text) => ({ text }))
          replaceRows(db, { table: 'chunk', where: { document, page }, rows })
          if (kills === 'before' && context.attempt === 1) die()
        })
      },
      ends: ({ document }, context) => {
        begun()
        context.within((db) => db.prepare('INSERT INTO ended VALUES (?)').run(document))
      },
      steps: ({ document, step }, context) => {
        begun()
        context.within((db) => db.prepare('INSERT INTO stepped VALUES (?, ?)').run(document, step))
        return { document, step: step + 1 }
      },
    },
    onEvent: ({ event, id }) => {
      if (event === 'completed' && last.has(id)) die()
    },
  })
  .run()
