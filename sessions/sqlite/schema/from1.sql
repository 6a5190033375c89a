-- From version 1 to 4: the events of a turn are numbered, and facts have an owner, not a user,
-- a word that PostgreSQL keeps for itself.
CREATE TABLE numbered (
    turn  INTEGER NOT NULL REFERENCES turns,
    place INTEGER NOT NULL,
    data  BLOB NOT NULL,
    PRIMARY KEY (turn, place)
) STRICT;
INSERT INTO numbered (turn, place, data)
SELECT turn, row_number() OVER (PARTITION BY turn ORDER BY id) - 1, data FROM events ORDER BY id;
DROP TABLE events;
ALTER TABLE numbered RENAME TO events;
ALTER TABLE facts RENAME COLUMN user TO owner;
