import { Option } from 'commander'
import { serveDefaults } from '../../server/serve.ts'

/** `--data`, the same for every command; an empty value counts as none. */
export function dataOption(): Option {
  const { dataDirectory } = serveDefaults
  return new Option('--data <directory>', 'where the store lives')
    .env('MILLRACE_DATA')
    .default(dataDirectory)
    .argParser((text) => text || dataDirectory)
}
