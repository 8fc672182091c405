import { Option } from 'commander'
import { serverDefaults } from '../../core/server-defaults.ts'

/** `--data`, the same for every command; an empty value counts as none. */
export function dataOption(): Option {
  const { dataDirectory } = serverDefaults
  return new Option('--data <directory>', 'where the store lives')
    .env('MILLRACE_DATA')
    .default(dataDirectory)
    .argParser((text) => text || dataDirectory)
}
