-- The limits of use that all workers keep together: step from version 1 to 2, and part of a
-- new store.
--
-- What decides runs here, as functions, each of which a worker calls by one statement
-- outside of any transaction: so no lock of an account outlives the statement when the
-- network parts a worker from the server, and all workers go by one clock.

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
    until   timestamptz NOT NULL
);
CREATE INDEX attempts_by_account ON attempts (account);

-- filled_account locks an account until the statement's end, and returns it with what has
-- flowed into its buckets.
CREATE FUNCTION filled_account(wanted text) RETURNS accounts LANGUAGE plpgsql AS $$
DECLARE
    a      accounts;
    moment timestamptz;
    passed double precision;
BEGIN
    SELECT * INTO STRICT a FROM accounts WHERE name = wanted FOR UPDATE;
    moment := greatest(clock_timestamp(), a.filled); -- clocks are set back
    passed := extract(epoch FROM moment - a.filled);
    a.requests := least(a.request_burst, a.requests + passed * a.request_inflow);
    a.tokens := least(a.token_burst, a.tokens + passed * a.token_inflow);
    a.filled := moment;
    RETURN a;
END $$;

-- missing returns how many seconds it takes until a bucket has what an attempt needs. One
-- that needs more than the bucket holds waits until it is full.
CREATE FUNCTION missing(need double precision, level double precision, burst double precision, inflow double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN burst > 0 AND least(need, burst) > level THEN (least(need, burst) - level) / inflow ELSE 0 END
$$;

-- book_attempt books an attempt for so many seconds, and returns 0, or books nothing, and
-- returns after how many seconds to ask again. To ask again for an attempt that was booked
-- changes nothing.
CREATE FUNCTION book_attempt(wanted text, attempt text, need bigint, lease double precision)
RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
    a    accounts;
    wait double precision;
    -- Of the waits, in seconds: the longest, as others may give back what they have booked;
    -- that for a place; the shortest of those who are not next; and how late the one that
    -- is next may come.
    longest   CONSTANT double precision := 1;
    for_place CONSTANT double precision := 0.2;
    shortest  CONSTANT double precision := 0.05;
    late      CONSTANT double precision := 2;
BEGIN
    a := filled_account(wanted);
    IF EXISTS (SELECT FROM attempts WHERE id = attempt) THEN
        RETURN 0;
    END IF;
    IF a.next NOT IN ('', attempt) AND a.next_until > a.filled THEN
        RETURN least(longest, greatest(shortest, extract(epoch FROM a.next_until - a.filled) - late));
    END IF;
    wait := greatest(
        missing(1, a.requests, a.request_burst, a.request_inflow), missing(need, a.tokens, a.token_burst, a.token_inflow),
        CASE WHEN a.places > 0 AND (SELECT count(*) FROM attempts WHERE account = wanted AND until > a.filled) >= a.places
            THEN for_place ELSE 0 END);
    IF wait > 0 THEN
        wait := least(longest, greatest(wait, 0.001)); -- one that rounds to 0 would say that it is booked
        UPDATE accounts SET next = attempt, next_until = a.filled + (wait + late) * interval '1 second' WHERE name = wanted;
        RETURN wait;
    END IF;
    UPDATE accounts SET requests = a.requests - 1, tokens = a.tokens - need, filled = a.filled, next = '' WHERE name = wanted;
    DELETE FROM attempts WHERE account = wanted AND until < a.filled - interval '1 day'; -- nobody will end these
    INSERT INTO attempts VALUES (attempt, wanted, need, a.filled, a.filled + lease * interval '1 second');
    RETURN 0;
END $$;

-- end_attempt ends an attempt that was booked, or that has waited, or that has ended. What
-- was booked for it is given back as far as it was not used; NULL tokens mean that this is
-- not known.
CREATE FUNCTION end_attempt(wanted text, attempt text, used_requests integer, used_tokens bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    a    accounts := filled_account(wanted);
    held bigint;
BEGIN
    UPDATE accounts SET next = '' WHERE name = wanted AND next = attempt;
    DELETE FROM attempts WHERE id = attempt RETURNING tokens INTO held;
    IF FOUND THEN
        UPDATE accounts
        SET requests = a.requests + 1 - used_requests, tokens = a.tokens + held - coalesce(used_tokens, held), filled = a.filled
        WHERE name = wanted;
    END IF;
END $$;
