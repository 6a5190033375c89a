-- The store's version and its random id, in one row. The table also marks the schema as a store.
CREATE TABLE massgen_store (
    version integer NOT NULL,
    id      text COLLATE "C" NOT NULL
);

CREATE INDEX turns_by_words ON turns USING gin (words);
CREATE INDEX sessions_by_words ON sessions USING gin (title_words);

-- Moments are later than all before them. They order what Begin and Put have done.
CREATE SEQUENCE moments;

-- The texts that were put and may be named yet.
CREATE TABLE fresh (
    text bytea PRIMARY KEY REFERENCES texts,
    put  bigint NOT NULL -- the moment when it was last put
);

-- Who holds a session for a turn, whether the session is there yet or not. A hold whose time
-- is up is nobody's, and whoever comes next may take it. A hold that ends later than its lease
-- from now was prolonged while the clock was ahead.
CREATE TABLE holds (
    name     text COLLATE "C" PRIMARY KEY,
    owner    text NOT NULL,
    turn     integer NOT NULL,
    question bytea NOT NULL,
    began    bigint NOT NULL, -- a moment
    until    timestamptz NOT NULL,
    cut      jsonb NOT NULL DEFAULT '{}', -- usage of the turn that the holder's turn abandons
    lease_seconds double precision NOT NULL DEFAULT 60 -- how long a lease lasts; older programs store none
);
