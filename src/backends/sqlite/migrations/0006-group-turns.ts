/**
 * A FIFO group gives out what lies before the first of its messages in flight, and groups take turns by
 * the time since when their heads could be received, as on SQS. The rows of groups say so, and follow
 * from their messages.
 */
export const groupTurns = `
DROP INDEX message_ready_in_group;
CREATE INDEX message_in_group ON message (generation, group_name, state, sequence)
  WHERE group_name IS NOT NULL;

DROP TABLE fifo_group;
CREATE TABLE fifo_group (
  generation   INTEGER NOT NULL,
  name         TEXT NOT NULL,
  head         INTEGER,             -- the first ready message
  first_leased INTEGER,             -- the first message in flight, which keeps back those after it
  returned_at  INTEGER NOT NULL,    -- when a message of the group came back last, or 0
  turn         INTEGER,             -- the order of groups; null while nothing of it can be received
  PRIMARY KEY (generation, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX fifo_group_open ON fifo_group (generation, turn, head) WHERE turn IS NOT NULL;

INSERT INTO fifo_group
SELECT generation, group_name, head, first_leased, 0,
  CASE WHEN head < coalesce(first_leased, head + 1) THEN 2 * sent_at END
FROM (
  SELECT message.generation, group_name, min(sent_at) AS sent_at,
    min(CASE state WHEN 0 THEN sequence END) AS head,
    min(CASE state WHEN 1 THEN sequence END) AS first_leased
  FROM message JOIN queue ON queue.generation = message.generation
  WHERE state IN (0, 1) AND json_extract(settings, '$.type') = 'fifo'
  GROUP BY message.generation, group_name
);
`
