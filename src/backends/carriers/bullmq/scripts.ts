/** What BullMQ has no script for, in Lua. Each is atomic. */

export interface CarrierScript {
  readonly name: string
  readonly keys: number
  readonly lua: string
}

const removeJobKeys = `
local function removeJobKeys(jobKey)
  redis.call('DEL', jobKey, jobKey .. ':lock', jobKey .. ':logs', jobKey .. ':dependencies',
    jobKey .. ':processed', jobKey .. ':failed', jobKey .. ':unsuccessful')
end
`

/**
 * Removes a job if it has finished, so that another one can have its id: BullMQ ignores a job whose id is there.
 * KEYS: completed, failed, the job. ARGV: the id.
 */
export const forgetFinished: CarrierScript = {
  name: 'millrace:forgetFinished',
  keys: 3,
  lua: `${removeJobKeys}
if redis.call('ZREM', KEYS[1], ARGV[1]) + redis.call('ZREM', KEYS[2], ARGV[1]) > 0 then
  removeJobKeys(KEYS[3])
  return 1
end
return 0
`,
}

/**
 * Removes active jobs, leased or not. Those that hold the leases can no longer settle them.
 * KEYS: active, stalled. ARGV: what the keys of jobs begin with, how many at most. Returns how many.
 */
export const purgeActive: CarrierScript = {
  name: 'millrace:purgeActive',
  keys: 2,
  lua: `${removeJobKeys}
local ids = redis.call('LRANGE', KEYS[1], -tonumber(ARGV[2]), -1)
for _, id in ipairs(ids) do
  redis.call('LREM', KEYS[1], -1, id)
  redis.call('SREM', KEYS[2], id)
  removeJobKeys(ARGV[1] .. id)
end
return #ids
`,
}

export const carrierScripts: readonly CarrierScript[] = [forgetFinished, purgeActive]
