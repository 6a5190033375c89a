-- Version 1 of a store. A later version adds a file with the next number, and
-- leaves this one as it is.
--
-- Times are whole milliseconds, by the server's clock. A usage's cost is NULL where
-- it is unknown.

-- The store's version, in one row. It also marks the schema as a store.
CREATE TABLE massgen_store (version integer NOT NULL);

-- Texts by their content's hash. Every text is named by a turn (refs), or was put
-- and may be named yet (fresh): who takes the last name away takes the text too.
CREATE TABLE texts (
    sha256 bytea PRIMARY KEY,
    data   bytea NOT NULL
);

-- Moments are later than all before them. They order what Begin and Put have done.
CREATE SEQUENCE moments;

CREATE TABLE fresh (
    text bytea PRIMARY KEY REFERENCES texts,
    put  bigint NOT NULL -- the moment when it was last put
);

-- A session has at least one turn. Its sums are those of sessions.Session.
CREATE TABLE sessions (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          text COLLATE "C" NOT NULL UNIQUE, -- the id that people know
    title         text NOT NULL,
    title_words   tsvector NOT NULL,
    parent        text NOT NULL,                    -- the name that a branch's parent had
    parent_turn   integer NOT NULL,
    created       timestamptz NOT NULL,
    updated       timestamptz NOT NULL,
    turns         integer NOT NULL,                 -- the last turn's number
    head          bytea,                            -- the text of the newest link
    messages      bigint NOT NULL,
    calls         bigint NOT NULL,
    input_tokens  bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    unknown_calls bigint NOT NULL,
    cost_usd      double precision
);
CREATE INDEX sessions_by_update ON sessions (updated);

CREATE TABLE metadata (
    session bigint NOT NULL REFERENCES sessions,
    key     text COLLATE "C" NOT NULL,
    value   text NOT NULL,
    PRIMARY KEY (session, key)
);

CREATE TABLE turns (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session       bigint NOT NULL REFERENCES sessions,
    number        integer NOT NULL,
    question      bytea NOT NULL,                   -- a text, as are answer, list and link
    answer        bytea,
    list          bytea,                            -- of messages
    link          bytea,
    winner        text NOT NULL,
    status        text NOT NULL,                    -- 'running' until the turn has ended
    started       timestamptz NOT NULL,
    ended         timestamptz,
    messages      bigint NOT NULL,
    calls         bigint NOT NULL,
    input_tokens  bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    unknown_calls bigint NOT NULL,
    cost_usd      double precision,
    words         tsvector,                         -- of its question and answer, once it is over
    UNIQUE (session, number)
);
CREATE INDEX turns_running ON turns (session) WHERE status = 'running';
CREATE INDEX turns_by_words ON turns USING gin (words);

-- The journal: a turn's events by their place in it, from 0.
CREATE TABLE events (
    turn  bigint NOT NULL REFERENCES turns,
    place integer NOT NULL,
    data  bytea NOT NULL,
    PRIMARY KEY (turn, place)
);

-- Which turn names which text, in its journal or by its columns.
CREATE TABLE refs (
    turn bigint NOT NULL REFERENCES turns,
    text bytea NOT NULL REFERENCES texts,
    PRIMARY KEY (turn, text)
);
CREATE INDEX refs_by_text ON refs (text);

-- Who holds a session for a turn, whether the session is there yet or not. A hold
-- whose time is up is nobody's, and whoever comes next may take it.
CREATE TABLE holds (
    name     text COLLATE "C" PRIMARY KEY,
    owner    text NOT NULL,
    turn     integer NOT NULL,
    question bytea NOT NULL,
    began    bigint NOT NULL, -- a moment
    until    timestamptz NOT NULL
);

CREATE TABLE facts (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner   text COLLATE "C" NOT NULL, -- the user
    text    text NOT NULL,
    sha256  bytea NOT NULL,            -- of the text, which may be longer than an index can hold
    words   tsvector NOT NULL,
    created timestamptz NOT NULL,
    UNIQUE (owner, sha256)
);
