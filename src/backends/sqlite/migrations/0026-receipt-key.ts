/** The secret that receipts are signed with, and the last token of a receipt that was not. */
export const receiptKey = `
ALTER TABLE store ADD COLUMN receipt_key TEXT NOT NULL DEFAULT '';
ALTER TABLE store ADD COLUMN unsigned_token_max INTEGER NOT NULL DEFAULT 0;
UPDATE store SET receipt_key = lower(hex(randomblob(8))), unsigned_token_max = last_token;
`
