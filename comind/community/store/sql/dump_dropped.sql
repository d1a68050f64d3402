-- Rows that name what is not there, and so are in no record.
SELECT 'Kernels.csv' AS what, 'its author or name cannot be told' AS reason, count(*) AS count
FROM Kernels WHERE Id NOT IN (SELECT kernel FROM kernel_refs)
UNION ALL
SELECT 'KernelVersions.csv', 'its notebook is not there', count(*)
FROM KernelVersions WHERE ScriptId NOT IN (SELECT kernel FROM kernel_refs)
UNION ALL
SELECT 'KernelVersions.csv', 'reads no competition', count(*)
FROM KernelVersions WHERE Id NOT IN (SELECT KernelVersionId FROM KernelVersionCompetitionSources)
UNION ALL
SELECT 'KernelVersionCompetitionSources.csv', 'its competition is not there', count(*)
FROM KernelVersionCompetitionSources WHERE SourceCompetitionId NOT IN (SELECT Id FROM Competitions)
UNION ALL
SELECT 'KernelVersionCompetitionSources.csv', 'its version is not there', count(*)
FROM KernelVersionCompetitionSources WHERE KernelVersionId NOT IN (SELECT Id FROM KernelVersions)
UNION ALL
SELECT 'KernelVotes.csv', 'what was voted for is not there', count(*)
FROM KernelVotes WHERE KernelVersionId NOT IN (SELECT version_id FROM version_refs)
UNION ALL
SELECT 'ForumTopics.csv', 'is in no forum of a competition', count(*)
FROM ForumTopics WHERE Id NOT IN (SELECT topic FROM topics)
UNION ALL
SELECT 'ForumMessages.csv', 'is in no forum of a competition', count(*)
FROM ForumMessages WHERE ForumTopicId NOT IN (SELECT topic FROM topics)
UNION ALL
SELECT 'ForumMessageVotes.csv', 'is for no message in a forum of a competition', count(*)
FROM ForumMessageVotes WHERE ForumMessageId NOT IN (
    SELECT m.Id FROM ForumMessages m JOIN topics t ON t.topic = m.ForumTopicId
)
UNION ALL
SELECT 'Submissions.csv', 'has no public score', count(*)
FROM Submissions WHERE coalesce(PublicScoreFullPrecision, PublicScoreLeaderboardDisplay) IS NULL
ORDER BY what, reason
