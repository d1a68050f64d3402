-- Convert the tables of Meta Kaggle into records; known records are dropped later.

-- Refs of notebooks; the dump has public ones only. An enum in the order of names is sorted as a number.
CREATE OR REPLACE TEMP TABLE kernel_refs AS
SELECT k.Id AS kernel, u.UserName || '/' || k.CurrentUrlSlug AS ref, u.UserName AS author,
    k.MadePublicDate, k.ForkParentKernelVersionId AS parent
FROM Kernels k JOIN Users u ON u.Id = k.AuthorUserId
WHERE regexp_full_match(u.UserName || '/' || k.CurrentUrlSlug, '[A-Za-z0-9][\w.-]{0,99}/[A-Za-z0-9][\w.-]{0,99}')
    AND NOT regexp_matches(u.UserName || '/' || k.CurrentUrlSlug, '\.\.|\.(/|$)');
CREATE TYPE notebook_ref AS ENUM (SELECT DISTINCT ref FROM kernel_refs ORDER BY ref);
CREATE OR REPLACE TEMP TABLE kernel_refs AS SELECT * REPLACE (ref::notebook_ref AS ref) FROM kernel_refs;
CREATE TYPE competition_slug AS ENUM (SELECT DISTINCT Slug FROM Competitions ORDER BY Slug);

-- Votes belong to the notebook, so a version without a number is one here, and no record.
CREATE OR REPLACE VIEW version_refs AS
SELECT v.Id AS version_id, v.VersionNumber AS version, r.ref
FROM KernelVersions v JOIN kernel_refs r ON r.kernel = v.ScriptId;

CREATE OR REPLACE VIEW dataset_refs AS
SELECT v.Id AS version_id, v.VersionNumber AS version, v.CreationDate, v.Title, v.LicenseName,
    coalesce(o.Slug, u.UserName, c.UserName) || '/' || v.Slug AS ref
FROM DatasetVersions v
JOIN Datasets d ON d.Id = v.DatasetId
LEFT JOIN Organizations o ON o.Id = d.OwnerOrganizationId
LEFT JOIN Users u ON u.Id = d.OwnerUserId
LEFT JOIN Users c ON c.Id = d.CreatorUserId;

CREATE OR REPLACE VIEW datasets_of AS
SELECT s.KernelVersionId AS version_id, list_sort(list_distinct(list(d.ref))) AS refs
FROM KernelVersionDatasetSources s JOIN dataset_refs d ON d.version_id = s.SourceDatasetVersionId
GROUP BY s.KernelVersionId;

CREATE OR REPLACE VIEW notebooks_of AS
SELECT s.KernelVersionId AS version_id, list_sort(list_distinct(list(r.ref))) AS refs
FROM KernelVersionKernelSources s JOIN version_refs r ON r.version_id = s.SourceKernelVersionId
GROUP BY s.KernelVersionId;

-- A version written before its notebook was public counts from its publication on. Rows that are there twice
-- are written once, as all records of things are.
CREATE OR REPLACE VIEW new_notebooks AS
SELECT c.competition, r.ref, v.VersionNumber AS version, v.Title AS title, r.author,
    v.CreationDate AS created_at,
    CASE WHEN l.Name ILIKE '%python%' THEN 'python' ELSE lower(l.Name) END AS language,
    'meta:' || v.Id AS code, d.refs AS datasets, n.refs AS notebooks, f.ref AS forked_from,
    getvariable('votes_dated')::BOOLEAN AS votes_dated,
    greatest(v.CreationDate, r.MadePublicDate) AS since,
    getvariable('seen_at')::TIMESTAMP AS seen_at
FROM KernelVersionCompetitionSources s
JOIN (SELECT Id, Slug::competition_slug AS competition FROM Competitions) c ON c.Id = s.SourceCompetitionId
JOIN KernelVersions v ON v.Id = s.KernelVersionId
JOIN kernel_refs r ON r.kernel = v.ScriptId
LEFT JOIN KernelLanguages l ON l.Id = v.ScriptLanguageId
LEFT JOIN datasets_of d ON d.version_id = v.Id
LEFT JOIN notebooks_of n ON n.version_id = v.Id
LEFT JOIN version_refs f ON f.version_id = r.parent
WHERE v.VersionNumber IS NOT NULL;

CREATE OR REPLACE VIEW topics AS
SELECT t.Id AS topic, c.Slug AS competition, t.Title, t.CreationDate,
    coalesce(t.FirstForumMessageId, f.first) AS first
FROM ForumTopics t
JOIN Competitions c ON c.ForumId = t.ForumId
LEFT JOIN (SELECT ForumTopicId, min(Id) AS first FROM ForumMessages GROUP BY ForumTopicId) f
    ON f.ForumTopicId = t.Id;

-- The text of a discussion is its first message.
CREATE OR REPLACE VIEW new_discussions AS
SELECT t.competition, t.topic::VARCHAR AS id, t.Title AS title, u.UserName AS author,
    t.CreationDate AS created_at, coalesce(nullif(m.RawMarkdown, ''), m.Message) AS body,
    CASE WHEN nullif(m.RawMarkdown, '') IS NULL THEN 'html' END AS form,
    getvariable('messages_dated')::BOOLEAN AS votes_dated,
    greatest(t.CreationDate, m.PostDate) AS since, getvariable('seen_at')::TIMESTAMP AS seen_at
FROM topics t
LEFT JOIN ForumMessages m ON m.Id = t.first
LEFT JOIN Users u ON u.Id = m.PostUserId;

CREATE OR REPLACE VIEW new_comments AS
SELECT t.competition, t.topic::VARCHAR AS discussion, m.Id::VARCHAR AS id,
    nullif(m.ReplyToForumMessageId, t.first)::VARCHAR AS parent, u.UserName AS author,
    m.PostDate AS created_at, coalesce(nullif(m.RawMarkdown, ''), m.Message) AS body,
    CASE WHEN nullif(m.RawMarkdown, '') IS NULL THEN 'html' END AS form,
    getvariable('messages_dated')::BOOLEAN AS votes_dated,
    m.PostDate AS since, getvariable('seen_at')::TIMESTAMP AS seen_at
FROM ForumMessages m
JOIN topics t ON t.topic = m.ForumTopicId
LEFT JOIN Users u ON u.Id = m.PostUserId
WHERE m.Id <> t.first;

CREATE OR REPLACE VIEW new_datasets AS
SELECT NULL::VARCHAR AS competition, ref, version, Title AS title, NULL::VARCHAR AS path,
    LicenseName AS licence, CreationDate AS since, getvariable('seen_at')::TIMESTAMP AS seen_at
FROM dataset_refs
WHERE ref IN (
    SELECT d.ref FROM KernelVersionDatasetSources s
    JOIN dataset_refs d ON d.version_id = s.SourceDatasetVersionId
    WHERE s.KernelVersionId IN (SELECT KernelVersionId FROM KernelVersionCompetitionSources)
);

-- What votes are for, as an enum in the order of names: it is joined, sorted and written as a number.
CREATE OR REPLACE TEMP TABLE vote_targets AS
SELECT kernel, NULL::BIGINT AS message, 'notebook:' || ref AS target FROM kernel_refs
UNION ALL
SELECT NULL, m.Id, CASE WHEN m.Id = t.first THEN 'discussion:' || t.competition || '/' || t.topic
    ELSE 'comment:' || t.competition || '/' || t.topic || '/' || m.Id END
FROM ForumMessages m JOIN topics t ON t.topic = m.ForumTopicId
WHERE m.Id IN (SELECT ForumMessageId FROM ForumMessageVotes);
CREATE TYPE vote_target AS ENUM (SELECT DISTINCT target FROM vote_targets ORDER BY target);
CREATE OR REPLACE TEMP TABLE vote_targets AS
SELECT * REPLACE (target::vote_target AS target) FROM vote_targets;

CREATE OR REPLACE VIEW new_votes AS
SELECT t.target, v.UserId AS voter, v.VoteDate AS since, NULL::TIMESTAMP AS seen_at
FROM KernelVotes v
JOIN KernelVersions k ON k.Id = v.KernelVersionId
JOIN vote_targets t ON t.kernel = k.ScriptId
UNION ALL
SELECT t.target, v.FromUserId, v.VoteDate, NULL
FROM ForumMessageVotes v JOIN vote_targets t ON t.message = v.ForumMessageId;

-- A score belongs to the competition of its team, if the table of teams exists.
CREATE OR REPLACE VIEW new_observations AS
SELECT DISTINCT 'score:' || c.Slug || '/' || r.ref AS target, r.version, NULL::BIGINT AS votes,
    NULL::VARCHAR AS tier,
    coalesce(s.PublicScoreFullPrecision, s.PublicScoreLeaderboardDisplay) AS score,
    greatest(s.SubmissionDate, s.ScoreDate) AS since, NULL::TIMESTAMP AS seen_at
FROM Submissions s
JOIN version_refs r ON r.version_id = s.SourceKernelVersionId
JOIN KernelVersionCompetitionSources k ON k.KernelVersionId = s.SourceKernelVersionId
JOIN Competitions c ON c.Id = k.SourceCompetitionId
LEFT JOIN Teams t ON t.Id = s.TeamId
WHERE r.version IS NOT NULL
    AND coalesce(s.PublicScoreFullPrecision, s.PublicScoreLeaderboardDisplay) IS NOT NULL
    AND (NOT getvariable('by_team')::BOOLEAN OR t.CompetitionId = k.SourceCompetitionId);

-- The current tier has no time; an achievement has one.
CREATE OR REPLACE VIEW new_tiers AS
SELECT DISTINCT u.UserName AS author, getvariable('tiers')[a.Tier + 1] AS tier,
    a.TierAchievementDate AS since, NULL::TIMESTAMP AS seen_at
FROM UserAchievements a JOIN Users u ON u.Id = a.UserId
WHERE a.Tier BETWEEN 1 AND 5
UNION ALL
SELECT UserName, getvariable('tiers')[PerformanceTier + 1], NULL, NULL
FROM Users WHERE PerformanceTier BETWEEN 0 AND 5;
