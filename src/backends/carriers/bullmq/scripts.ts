/** What BullMQ's scripts lack, in Lua. Each is atomic. */

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
 * Before a job is added: removes one of the same id that has finished, because BullMQ ignores a job whose id is
 * there. It precedes BullMQ's own scripts for adding, whose first argument has what keys begin with, and the id.
 */
const forgetFinished = `${removeJobKeys}
do
  local given = cmsgpack.unpack(ARGV[1])
  local prefix, id = given[1], given[2]
  if id ~= '' and redis.call('HEXISTS', prefix .. id, 'finishedOn') == 1 then
    local removed = redis.call('ZREM', prefix .. 'completed', id)
      + redis.call('ZREM', prefix .. 'failed', id)
    if removed > 0 then removeJobKeys(prefix .. id) end
  end
end
`

const adding = /^add(?:Standard|Delayed|Prioritized)Job:/

/** What runs in place of a script of BullMQ. */
export function substituteFor(name: string): string {
  return adding.test(name) ? `millrace:${name}` : name
}

/** The scripts of BullMQ, by name, as its connection has defined them. */
export type DefinedScripts = Readonly<
  Record<string, { readonly lua: string; readonly numberOfKeys: number | null }>
>

export function substitutes(defined: DefinedScripts): readonly CarrierScript[] {
  const found = Object.entries(defined).filter(([name]) => adding.test(name))
  if (found.length !== 3)
    throw new TypeError('The scripts of BullMQ for adding jobs are not there.')
  return found.map(([name, { lua, numberOfKeys }]) => ({
    name: substituteFor(name),
    keys: Number(numberOfKeys),
    lua: `${forgetFinished}${lua}`,
  }))
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
