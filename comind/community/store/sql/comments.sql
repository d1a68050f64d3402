-- Comments of $competition as of $until, each in its current version, with its votes.
WITH there AS (
    SELECT * FROM comments
    WHERE competition = $competition AND (since <= $until OR since IS NULL)
    QUALIFY row_number() OVER (
        PARTITION BY discussion, id, since IS NULL AND NOT $undated
        ORDER BY since DESC NULLS LAST, seen_at DESC NULLS LAST, hash
    ) = 1
),
counted AS (
    SELECT target, count(DISTINCT voter) AS votes, max(since) AS since FROM votes
    WHERE since <= $until AND target IN (
        SELECT 'comment:' || $competition || '/' || discussion || '/' || id FROM there
    )
    GROUP BY target
),
observed AS (
    SELECT target, max(seen) AS since, arg_max(votes, {'since': seen, 'origin': origin, 'value': votes}) AS votes
    FROM (
        SELECT *, coalesce(since, TIMESTAMP '0001-01-01') AS seen FROM observations
        WHERE (since <= $until OR (since IS NULL AND $undated)) AND target IN (
            SELECT 'comment:' || $competition || '/' || discussion || '/' || id FROM there
        )
    )
    GROUP BY target
)
SELECT m.* EXCLUDE (competition, hash, seen_at, origin),
    CASE WHEN counted.votes IS NULL THEN observed.votes
        ELSE greatest(counted.votes, observed.votes) END AS votes,
    greatest(counted.since, observed.since) AS known_at
FROM there m
LEFT JOIN counted ON counted.target = 'comment:' || $competition || '/' || m.discussion || '/' || m.id
LEFT JOIN observed ON observed.target = 'comment:' || $competition || '/' || m.discussion || '/' || m.id
ORDER BY m.discussion, m.since, m.id
