-- Slugs of all competitions in the store.
SELECT DISTINCT competition FROM (
    SELECT competition FROM notebooks UNION ALL SELECT competition FROM discussions
    UNION ALL SELECT competition FROM datasets
) WHERE competition IS NOT NULL ORDER BY competition
