/** What programs of Debian's packages get to see: nothing of the settings of whoever runs the tests. */
import { fileURLToPath } from 'node:url'

/**
 * Move tasks are younger than these packages. botocore takes over what it finds in such a folder, so that
 * they can be called as every other action.
 */
const models = fileURLToPath(new URL('./move-task-model', import.meta.url))

export function debianEnvironment(
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return {
    PATH: '/usr/bin:/bin',
    LANG: 'C.UTF-8',
    AWS_DATA_PATH: models,
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_PAGER: '',
    ...extra,
  }
}
