-- The functions of the limits of use: part of a new store, and of each step that changes them.
--
-- What decides runs here. A worker calls each function by one statement outside of any
-- transaction: so no lock of an account outlives the statement when the network parts a worker
-- from the server, and all workers go by one clock.

-- filled_account locks an account until the statement's end, and returns it with what has
-- flowed into its buckets.
CREATE OR REPLACE FUNCTION filled_account(wanted text) RETURNS accounts LANGUAGE plpgsql AS $$
DECLARE
    a      accounts;
    moment timestamptz;
    passed double precision;
BEGIN
    SELECT * INTO STRICT a FROM accounts WHERE name = wanted FOR UPDATE;
    moment := clock_timestamp();
    passed := greatest(0, extract(epoch FROM moment - a.filled)); -- clocks are set back
    a.requests := least(a.request_burst, a.requests + passed * a.request_inflow);
    a.tokens := least(a.token_burst, a.tokens + passed * a.token_inflow);
    a.filled := moment;
    RETURN a;
END $$;

-- missing returns how many seconds it takes until a bucket has what an attempt needs. One
-- that needs more than the bucket holds waits until it is full.
CREATE OR REPLACE FUNCTION missing(need double precision, level double precision, burst double precision, inflow double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN burst > 0 AND least(need, burst) > level THEN (least(need, burst) - level) / inflow ELSE 0 END
$$;

-- book_attempt books an attempt for so many seconds, and returns 0, or books nothing, and
-- returns after how many seconds to ask again. To ask again for an attempt that was booked
-- changes nothing.
CREATE OR REPLACE FUNCTION book_attempt(wanted text, attempt text, need bigint, lease double precision)
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
    IF a.next NOT IN ('', attempt) AND a.next_until > a.filled
        AND a.next_until <= a.filled + (longest + late) * interval '1 second' THEN -- clocks are set back
        RETURN least(longest, greatest(shortest, extract(epoch FROM a.next_until - a.filled) - late));
    END IF;
    -- An attempt whose worker died while the clock was ahead would keep its place for as long.
    UPDATE attempts SET until = a.filled + lease_seconds * interval '1 second'
    WHERE account = wanted AND until > a.filled + lease_seconds * interval '1 second';
    wait := greatest(
        missing(1, a.requests, a.request_burst, a.request_inflow), missing(need, a.tokens, a.token_burst, a.token_inflow),
        CASE WHEN a.places > 0 AND (SELECT count(*) FROM attempts WHERE account = wanted AND until > a.filled) >= a.places
            THEN for_place ELSE 0 END);
    IF wait > 0 THEN
        wait := least(longest, greatest(wait, 0.001)); -- one that rounds to 0 would say that it is booked
        UPDATE accounts SET requests = a.requests, tokens = a.tokens, filled = a.filled, next = attempt, next_until = a.filled + (wait + late) * interval '1 second' WHERE name = wanted;
        RETURN wait;
    END IF;
    UPDATE accounts SET requests = a.requests - 1, tokens = a.tokens - need, filled = a.filled, next = '' WHERE name = wanted;
    DELETE FROM attempts WHERE account = wanted AND until < a.filled - interval '1 day'; -- nobody will end these
    INSERT INTO attempts (id, account, tokens, booked, until, lease_seconds)
    VALUES (attempt, wanted, need, a.filled, a.filled + lease * interval '1 second', lease);
    RETURN 0;
END $$;

-- end_attempt ends an attempt that was booked, or that has waited, or that has ended. What
-- was booked for it is given back as far as it was not used; NULL tokens mean that this is
-- not known.
CREATE OR REPLACE FUNCTION end_attempt(wanted text, attempt text, used_requests integer, used_tokens bigint)
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
