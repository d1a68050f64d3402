-- Notebooks of $competition as of $until, each in its current version, with its observed values.
WITH there AS (
    SELECT * FROM notebooks
    WHERE competition = $competition AND (since <= $until OR since IS NULL)
    -- Versions without a time are a partition of their own, so that they can be reported as not used.
    QUALIFY row_number() OVER (
        PARTITION BY ref, since IS NULL AND NOT $undated
        -- A version without code, from a listing, must not hide one with code.
        ORDER BY code IS NULL, since DESC NULLS LAST, version DESC, seen_at DESC NULLS LAST, hash
    ) = 1
),
counted AS (
    SELECT target, count(DISTINCT voter) AS votes, max(since) AS since FROM votes
    WHERE since <= $until AND target IN (SELECT 'notebook:' || ref FROM there)
    GROUP BY target
),
seen AS (
    SELECT target, version, coalesce(since, TIMESTAMP '0001-01-01') AS since, votes, tier, score, origin
    FROM observations
    WHERE (since <= $until OR (since IS NULL AND $undated))
        AND (target IN (SELECT 'notebook:' || ref FROM there)
            OR target IN (SELECT 'score:' || $competition || '/' || ref FROM there))
),
observed AS (
    SELECT target, max(since) AS since,
        arg_max(votes, {'since': since, 'origin': origin, 'value': votes}) AS votes,
        arg_max(tier, {'since': since, 'origin': origin, 'value': tier}) AS tier
    FROM seen GROUP BY target
),
scored AS (
    SELECT target, version, max(since) AS since, arg_max(score, {'since': since, 'origin': origin, 'value': score}) AS score FROM seen
    WHERE score IS NOT NULL GROUP BY target, version
),
ranked AS (
    SELECT author, max(since) AS since,
        arg_max(tier, list_position(getvariable('tiers'), tier)) AS tier
    FROM tiers
    WHERE (since <= $until OR (since IS NULL AND $undated)) AND author IN (SELECT author FROM there)
    GROUP BY author
)
SELECT n.* EXCLUDE (competition, hash, seen_at, origin),
    CASE WHEN counted.votes IS NULL THEN observed.votes
        ELSE greatest(counted.votes, observed.votes) END AS votes,
    coalesce(observed.tier, ranked.tier) AS tier,
    scored.score,
    greatest(counted.since, observed.since, scored.since, ranked.since) AS known_at
FROM there n
LEFT JOIN counted ON counted.target = 'notebook:' || n.ref
LEFT JOIN observed ON observed.target = 'notebook:' || n.ref
LEFT JOIN scored ON scored.target = 'score:' || $competition || '/' || n.ref AND scored.version = n.version
LEFT JOIN ranked ON ranked.author = n.author
ORDER BY n.ref, n.since
