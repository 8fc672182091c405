/**
 * A client of Prisma as its generator makes it for a schema without models, so that no test needs the generator
 * or its engines. Raw queries need no models.
 */
import { PrismaPg } from '@prisma/adapter-pg'
import { type GetPrismaClientConfig, getPrismaClient } from '@prisma/client/runtime/client'

export interface PrismaTransaction {
  $executeRawUnsafe(text: string, ...values: readonly unknown[]): Promise<number>
  $queryRawUnsafe<Rows>(text: string, ...values: readonly unknown[]): Promise<Rows>
}

export interface PrismaClient extends PrismaTransaction {
  $transaction<T>(run: (tx: PrismaTransaction) => Promise<T>): Promise<T>
  $disconnect(): Promise<void>
}

/** These modules, and the class of Node, have no types. */
const compiler = '@prisma/client/runtime/query_compiler_fast_bg.postgresql'
const { Module } = Reflect.get(globalThis, 'WebAssembly')

const config: GetPrismaClientConfig = {
  previewFeatures: [],
  clientVersion: '7.0.0',
  engineVersion: '0',
  activeProvider: 'postgresql',
  inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: Buffer.alloc(16).toString('base64') },
  compilerWasm: {
    getRuntime: () => import(`${compiler}.mjs`),
    getQueryCompilerWasmModule: async () => {
      const { wasm } = await import(`${compiler}.wasm-base64.mjs`)
      return new Module(Buffer.from(wasm, 'base64'))
    },
    importName: './query_compiler_fast_bg.js',
  },
}

export function prismaClient(url: string): PrismaClient {
  const Client = getPrismaClient(config) as unknown as new (options: object) => PrismaClient
  return new Client({ adapter: new PrismaPg({ connectionString: url }) })
}
