-- The limits of use that all workers keep together: step from version 1 to 2, and part of a
-- new store.

-- An account is a provider and a key with certain limits. Each of its two limits per
-- minute is a bucket (internal/models/retry, Bucket). One that holds 0 is no limit.
CREATE TABLE accounts (
    name           text COLLATE "C" PRIMARY KEY, -- a hash
    places         integer NOT NULL,             -- for attempts at a time; 0 for any number
    request_burst  double precision NOT NULL,    -- what the bucket holds at most
    request_inflow double precision NOT NULL,    -- in a second
    requests       double precision NOT NULL,    -- what was in it at the time "filled"
    token_burst    double precision NOT NULL,
    token_inflow   double precision NOT NULL,
    tokens         double precision NOT NULL,
    filled         timestamptz NOT NULL,
    -- The attempt that waits and that nobody may overtake, and until when it is expected
    -- to ask again.
    next           text COLLATE "C" NOT NULL DEFAULT '',
    next_until     timestamptz NOT NULL DEFAULT '-infinity'
);

-- What is booked for an attempt, until that ends. After the time "until" its worker counts
-- as dead, and its place as free.
CREATE TABLE attempts (
    id      text COLLATE "C" PRIMARY KEY,
    account text COLLATE "C" NOT NULL REFERENCES accounts,
    tokens  bigint NOT NULL,
    booked  timestamptz NOT NULL,
    until   timestamptz NOT NULL,
    lease_seconds double precision NOT NULL DEFAULT 15 -- how long a lease lasts; older programs store none
);
CREATE INDEX attempts_by_account ON attempts (account);
