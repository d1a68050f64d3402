-- Datasets of $competition or used by its notebooks as of $until, each in its current version.
WITH there AS (
    SELECT * FROM notebooks
    WHERE competition = $competition AND (since <= $until OR (since IS NULL AND $undated))
    QUALIFY row_number() OVER (
        PARTITION BY ref
        ORDER BY code IS NULL, since DESC NULLS LAST, version DESC, seen_at DESC NULLS LAST, hash
    ) = 1
)
SELECT * EXCLUDE (hash, seen_at, origin) FROM datasets
WHERE (since <= $until OR since IS NULL)
    AND (competition = $competition
        OR (competition IS NULL AND ref IN (SELECT DISTINCT unnest(datasets) FROM there)))
QUALIFY row_number() OVER (
    PARTITION BY ref, since IS NULL AND NOT $undated
    ORDER BY since DESC NULLS LAST, version DESC, seen_at DESC NULLS LAST, hash
) = 1
ORDER BY ref, since
