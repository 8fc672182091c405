/** The libraries that a caller may begin a transaction with, each in the way of its documentation. */
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import { sql } from 'drizzle-orm/sql'
import knex from 'knex'
import { CamelCasePlugin, CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { DataSource } from 'typeorm'
import { prismaClient } from './prisma-client.ts'

export interface CallersLibrary {
  /** Runs a function in a transaction, which is rolled back if it throws. */
  transact(run: (tx: CallersTransaction) => Promise<void>): Promise<void>
  /** What could be taken for a transaction, but is none. */
  readonly outside: object
  close(): Promise<void>
}

export interface CallersTransaction {
  /** What is given to Millrace. */
  readonly tx: object
  /** A write of the caller's own. */
  insert(exam: string): Promise<unknown>
}

type Open = (url: string) => Promise<CallersLibrary>

const text = 'INSERT INTO exam VALUES ($1)'

export const libraries: Readonly<Record<string, Open>> = {
  pg: async (url) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return {
      outside: client,
      close: () => client.end(),
      async transact(run) {
        await client.query('BEGIN')
        try {
          await run({ tx: client, insert: (exam) => client.query(text, [exam]) })
        } catch (error) {
          await client.query('ROLLBACK')
          throw error
        }
        await client.query('COMMIT')
      },
    }
  },

  'postgres.js, with renamed columns': async (url) => {
    const client = postgres(url, { max: 2, transform: postgres.camel })
    return {
      outside: client,
      close: () => client.end(),
      async transact(run) {
        await client.begin((tx) => run({ tx, insert: (exam) => tx.unsafe(text, [exam]) }))
      },
    }
  },

  'Drizzle on pg': async (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 2 })
    const db = drizzle({ client: pool })
    return {
      outside: db,
      close: () => pool.end(),
      transact: (run) =>
        db.transaction((tx) =>
          run({ tx, insert: (exam) => tx.execute(sql`INSERT INTO exam VALUES (${exam})`) }),
        ),
    }
  },

  'Drizzle on postgres.js': async (url) => {
    const client = postgres(url, { max: 2 })
    const db = drizzlePostgresJs({ client })
    return {
      outside: db,
      close: () => client.end(),
      transact: (run) =>
        db.transaction((tx) =>
          run({ tx, insert: (exam) => tx.execute(sql`INSERT INTO exam VALUES (${exam})`) }),
        ),
    }
  },

  'Kysely, with renamed columns': async (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 2 })
    const plugins = [new CamelCasePlugin()]
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }), plugins })
    return {
      outside: db,
      close: () => db.destroy(),
      transact: (run) =>
        db.transaction().execute((tx) =>
          run({
            tx,
            insert: (exam) => tx.executeQuery(CompiledQuery.raw(text, [exam])),
          }),
        ),
    }
  },

  Knex: async (url) => {
    const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 2 } })
    return {
      outside: db,
      close: () => db.destroy(),
      transact: (run) =>
        db.transaction((tx) => run({ tx, insert: async (id) => tx('exam').insert({ id }) })),
    }
  },

  TypeORM: async (url) => {
    const source = await new DataSource({ type: 'postgres', url }).initialize()
    return {
      outside: source.manager,
      close: () => source.destroy(),
      transact: (run) =>
        source.transaction((tx) => run({ tx, insert: (exam) => tx.query(text, [exam]) })),
    }
  },

  Prisma: async (url) => {
    const client = prismaClient(url)
    return {
      outside: client,
      close: () => client.$disconnect(),
      transact: (run) =>
        client.$transaction((tx) =>
          run({ tx, insert: (exam) => tx.$executeRawUnsafe(text, exam) }),
        ),
    }
  },
}
