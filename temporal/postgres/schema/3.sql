-- Version 3 of a store: what the turn has cost that the holder's turn gives up.

ALTER TABLE holds ADD COLUMN cut jsonb NOT NULL DEFAULT '{}'; -- a usage
