import { lambdaHandler } from '../../../src/index.ts'
import { press } from './app.ts'

const options = { store: true } as const

export const open = lambdaHandler(
  press,
  'books',
  ({ book, pages }, context) => {
    context.open('printing', book, {
      units: Array.from({ length: pages }, (_, page) => ({
        id: `p${page}`,
        message: { book, page },
      })),
      finalize: { message: { book } },
    })
  },
  options,
)

export const page = lambdaHandler(
  press,
  'pages',
  async ({ page }, { attempt }) => {
    if (page === 1 && attempt === 1) throw new Error('The paper is jammed.')
  },
  options,
)

export const print = lambdaHandler(
  press,
  'work',
  { PRINT: async ({ copies }) => ({ sheets: copies * 2 }) },
  options,
)
