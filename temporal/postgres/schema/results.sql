
-- What effects of running turns came to, until their session is let go of: their worker may
-- be lost before the journal has it. A result is JSON, and its key names an effect of the turn.
CREATE TABLE results (
    session text COLLATE "C" NOT NULL REFERENCES holds ON DELETE CASCADE,
    turn    integer NOT NULL,
    key     text COLLATE "C" NOT NULL,
    data    bytea NOT NULL,
    PRIMARY KEY (session, turn, key)
);
