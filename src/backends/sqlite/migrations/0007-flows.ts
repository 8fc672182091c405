/** Flows and their units. A message that does the work of a unit names it. */
export const flows = `
ALTER TABLE message ADD COLUMN unit INTEGER;   -- the number of the flow_unit that it works on
CREATE INDEX message_unit ON message (unit) WHERE unit IS NOT NULL;
`
