-- Discussions of $competition as of $until, each in its current version, with its observed values.
WITH there AS (
    SELECT * FROM discussions
    WHERE competition = $competition AND (since <= $until OR since IS NULL)
    QUALIFY row_number() OVER (
        PARTITION BY id, since IS NULL AND NOT $undated
        ORDER BY since DESC NULLS LAST, seen_at DESC NULLS LAST, hash
    ) = 1
),
counted AS (
    SELECT target, count(DISTINCT voter) AS votes, max(since) AS since FROM votes
    WHERE since <= $until AND target IN (SELECT 'discussion:' || $competition || '/' || id FROM there)
    GROUP BY target
),
observed AS (
    SELECT target, max(seen) AS since,
        arg_max(votes, {'since': seen, 'origin': origin, 'value': votes}) AS votes,
        arg_max(tier, {'since': seen, 'origin': origin, 'value': tier}) AS tier
    FROM (
        SELECT *, coalesce(since, TIMESTAMP '0001-01-01') AS seen FROM observations
        WHERE (since <= $until OR (since IS NULL AND $undated))
            AND target IN (SELECT 'discussion:' || $competition || '/' || id FROM there)
    )
    GROUP BY target
),
ranked AS (
    SELECT author, max(since) AS since,
        arg_max(tier, list_position(getvariable('tiers'), tier)) AS tier
    FROM tiers
    WHERE (since <= $until OR (since IS NULL AND $undated)) AND author IN (SELECT author FROM there)
    GROUP BY author
)
SELECT d.* EXCLUDE (competition, hash, seen_at, origin),
    CASE WHEN counted.votes IS NULL THEN observed.votes
        ELSE greatest(counted.votes, observed.votes) END AS votes,
    coalesce(observed.tier, ranked.tier) AS tier,
    greatest(counted.since, observed.since, ranked.since) AS known_at
FROM there d
LEFT JOIN counted ON counted.target = 'discussion:' || $competition || '/' || d.id
LEFT JOIN observed ON observed.target = 'discussion:' || $competition || '/' || d.id
LEFT JOIN ranked ON ranked.author = d.author
ORDER BY d.id, d.since
