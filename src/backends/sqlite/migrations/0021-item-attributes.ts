/** System attributes of staged items, such as the trace context of the program that added them. */
export const itemAttributes = `
ALTER TABLE collector_item ADD COLUMN system_attributes TEXT;
`
