-- Version 5 of a store, as its program made a new one.

-- Texts by their content's hash. Every text is named by a turn (refs), or was put and may be
-- named yet: who deletes the last name deletes the text. Other tables name it by id.
CREATE TABLE texts (
    id     INTEGER PRIMARY KEY,
    sha256 BLOB NOT NULL UNIQUE,
    data BLOB NOT NULL
) STRICT;

-- A session has at least one turn. Its sums are those of sessions.Session.
CREATE TABLE sessions (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE, -- the id that people know
    title         TEXT NOT NULL,
    parent        TEXT NOT NULL, -- the name that a branch's parent had
    parent_turn   INTEGER NOT NULL,
    created       INTEGER NOT NULL,
    updated       INTEGER NOT NULL,
    turns         INTEGER NOT NULL, -- the last turn's number
    head          INTEGER, -- of the newest link
    messages      INTEGER NOT NULL,
    calls         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    unknown_calls INTEGER NOT NULL,
    cost_usd      REAL
) STRICT;
CREATE INDEX sessions_by_update ON sessions (updated);

CREATE TABLE metadata (
    session INTEGER NOT NULL REFERENCES sessions,
    key     TEXT NOT NULL,
    value   TEXT NOT NULL,
    PRIMARY KEY (session, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    id            INTEGER PRIMARY KEY,
    session       INTEGER NOT NULL REFERENCES sessions,
    number        INTEGER NOT NULL,
    question      INTEGER NOT NULL,
    answer        INTEGER,
    list          INTEGER, -- of messages
    link          INTEGER,
    winner        TEXT NOT NULL,
    status        TEXT NOT NULL, -- 'running' until the turn has ended
    started       INTEGER NOT NULL,
    ended         INTEGER,
    messages      INTEGER NOT NULL,
    calls         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    unknown_calls INTEGER NOT NULL,
    cost_usd      REAL,
    UNIQUE (session, number)
) STRICT;
CREATE INDEX turns_running ON turns (session) WHERE status = 'running';

-- The journal: a turn's events by their place in it, from 0.
CREATE TABLE events (
    turn  INTEGER NOT NULL REFERENCES turns,
    place INTEGER NOT NULL,
    data  BLOB NOT NULL,
    PRIMARY KEY (turn, place)
) STRICT;

-- Which turn names which text, in its journal or by its columns.
CREATE TABLE refs (
    turn INTEGER NOT NULL REFERENCES turns,
    text INTEGER NOT NULL REFERENCES texts,
    PRIMARY KEY (turn, text)
) STRICT, WITHOUT ROWID;
CREATE INDEX refs_by_text ON refs (text);

CREATE TABLE facts (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    owner   TEXT NOT NULL, -- the user
    text    TEXT NOT NULL,
    created INTEGER NOT NULL,
    UNIQUE (owner, text)
) STRICT;

-- Full-text search. The indexes hold no texts of their own, and triggers keep
-- them up to date. What was deleted is taken out of them at once. A turn is found
-- when it is over.

CREATE VIEW turn_texts (id, question, answer) AS
SELECT turns.id, CAST(q.data AS TEXT), CAST(a.data AS TEXT)
FROM turns JOIN texts AS q ON q.id = turns.question LEFT JOIN texts AS a ON a.id = turns.answer
WHERE turns.status <> 'running';

CREATE VIRTUAL TABLE turn_search USING fts5 (
    question, answer, content = 'turn_texts', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE title_search USING fts5 (
    title, content = 'sessions', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE fact_search USING fts5 (
    text, content = 'facts', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO turn_search (turn_search, rank) VALUES ('secure-delete', 1);
INSERT INTO title_search (title_search, rank) VALUES ('secure-delete', 1);
INSERT INTO fact_search (fact_search, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER turn_ended AFTER UPDATE OF status ON turns WHEN old.status = 'running' BEGIN
    INSERT INTO turn_search (rowid, question, answer) SELECT id, question, answer FROM turn_texts WHERE id = new.id;
END;
CREATE TRIGGER turn_copied AFTER INSERT ON turns BEGIN
    INSERT INTO turn_search (rowid, question, answer) SELECT id, question, answer FROM turn_texts WHERE id = new.id;
END;
CREATE TRIGGER turn_deleted BEFORE DELETE ON turns BEGIN
    INSERT INTO turn_search (turn_search, rowid, question, answer)
    SELECT 'delete', id, question, answer FROM turn_texts WHERE id = old.id;
END;

CREATE TRIGGER title_new AFTER INSERT ON sessions BEGIN
    INSERT INTO title_search (rowid, title) VALUES (new.id, new.title);
END;
CREATE TRIGGER title_changed AFTER UPDATE OF title ON sessions BEGIN
    INSERT INTO title_search (title_search, rowid, title) VALUES ('delete', old.id, old.title);
    INSERT INTO title_search (rowid, title) VALUES (new.id, new.title);
END;
CREATE TRIGGER title_deleted AFTER DELETE ON sessions BEGIN
    INSERT INTO title_search (title_search, rowid, title) VALUES ('delete', old.id, old.title);
END;

CREATE TRIGGER fact_new AFTER INSERT ON facts BEGIN
    INSERT INTO fact_search (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER fact_deleted AFTER DELETE ON facts BEGIN
    INSERT INTO fact_search (fact_search, rowid, text) VALUES ('delete', old.id, old.text);
END;
