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
