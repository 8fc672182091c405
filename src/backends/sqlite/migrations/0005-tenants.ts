/**
 * How much of a standard queue's work in flight is of which tenant, that is, of which group: whoever has
 * much more of it than others is served after them. Messages without a group are not in it.
 */
export const tenants = `
CREATE TABLE tenant (
  generation  INTEGER NOT NULL,
  name        TEXT NOT NULL,
  leased      INTEGER NOT NULL,     -- while it is zero there is no row
  noisy_until INTEGER NOT NULL,
  PRIMARY KEY (generation, name)
) STRICT, WITHOUT ROWID;

INSERT INTO tenant
SELECT message.generation, group_name, count(*), 0
FROM message JOIN queue ON queue.generation = message.generation
WHERE state = 1 AND group_name IS NOT NULL AND json_extract(settings, '$.type') = 'standard'
GROUP BY message.generation, group_name;
`
