/** Starts fauxqs in memory, or persistent if a folder is given. */
import { startFauxqs } from 'fauxqs'

const [dataDir] = process.argv.slice(2)
const server = await startFauxqs({ port: 0, logger: false, ...(dataDir && { dataDir }) })
console.log(`http://127.0.0.1:${server.port}`)
