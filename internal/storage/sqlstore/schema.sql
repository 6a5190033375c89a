-- A store of version 7. A word in braces is the dialect's own text: a type, or what only one
-- kind of database needs. A usage's cost is NULL where it is unknown.

-- Texts by their content's hash. Every text is named by a turn (refs), or was put and may be
-- named yet: who deletes the last name deletes the text. Other tables name it by {key}.
CREATE TABLE texts (
    {text_columns},
    data {bytes} NOT NULL
){strict};

-- A session has at least one turn. Its sums are those of sessions.Session. A row with turns 0 is a session
-- that is being imported.
CREATE TABLE sessions (
    id            {id},
    name          {name} NOT NULL UNIQUE, -- the id that people know
    title         {text} NOT NULL,{title_words}
    parent        {text} NOT NULL, -- the name that a branch's parent had
    parent_turn   {number} NOT NULL,
    created       {time} NOT NULL,
    updated       {time} NOT NULL,
    turns         {number} NOT NULL, -- the last turn's number
    head          {text_key}, -- of the newest link
    messages      {count} NOT NULL,
    calls         {count} NOT NULL,
    input_tokens  {count} NOT NULL,
    output_tokens {count} NOT NULL,
    cached_tokens {count} NOT NULL,
    reasoning_tokens {count} NOT NULL DEFAULT 0, -- part of output_tokens; older programs store none
    unknown_calls {count} NOT NULL,
    cost_usd      {real}
){strict};
CREATE INDEX sessions_by_update ON sessions (updated); -- for programs of version 6
CREATE INDEX sessions_by_use ON sessions (updated DESC, name) WHERE turns > 0;
CREATE INDEX sessions_hidden ON sessions (name) WHERE turns = 0;

CREATE TABLE metadata (
    session {count} NOT NULL REFERENCES sessions,
    key     {name} NOT NULL,
    value   {text} NOT NULL,
    PRIMARY KEY (session, key)
){strict_by_key};

CREATE TABLE turns (
    id            {id},
    session       {count} NOT NULL REFERENCES sessions,
    number        {number} NOT NULL,
    question      {text_key} NOT NULL,
    answer        {text_key},
    list          {text_key}, -- of messages
    link          {text_key},
    winner        {text} NOT NULL,
    status        {text} NOT NULL, -- 'running' until the turn has ended
    started       {time} NOT NULL,
    ended         {time},
    messages      {count} NOT NULL,
    calls         {count} NOT NULL,
    input_tokens  {count} NOT NULL,
    output_tokens {count} NOT NULL,
    cached_tokens {count} NOT NULL,
    reasoning_tokens {count} NOT NULL DEFAULT 0, -- part of output_tokens; older programs store none
    unknown_calls {count} NOT NULL,
    cost_usd      {real},{turn_words}
    UNIQUE (session, number)
){strict};
CREATE INDEX turns_running ON turns (session) WHERE status = 'running';

-- The journal: a turn's events by their place in it, from 0.
CREATE TABLE events (
    turn  {count} NOT NULL REFERENCES turns,
    place {number} NOT NULL,
    data  {bytes} NOT NULL,
    PRIMARY KEY (turn, place)
){strict};

-- Which turn names which text, in its journal or by its columns.
CREATE TABLE refs (
    turn {count} NOT NULL REFERENCES turns,
    text {text_key} NOT NULL REFERENCES texts,
    PRIMARY KEY (turn, text)
){strict_by_key};
CREATE INDEX refs_by_text ON refs (text);

CREATE TABLE facts (
    id      {fact_id},
    owner   {name} NOT NULL, -- the user
    text    {text} NOT NULL,{fact_words}
    created {time} NOT NULL,
    UNIQUE (owner, {fact_unique})
){strict};

{more_tables}
