-- The latest time in a dump, a lower bound of the time of observation of what has no time. A row that is
-- dated later than the import was not observed at its time.
SELECT max(time) AS latest FROM (
    SELECT CreationDate AS time FROM KernelVersions
    UNION ALL SELECT VoteDate FROM KernelVotes
    UNION ALL SELECT PostDate FROM ForumMessages
    UNION ALL SELECT VoteDate FROM ForumMessageVotes
    UNION ALL SELECT CreationDate FROM DatasetVersions
    UNION ALL SELECT SubmissionDate FROM Submissions
) WHERE time <= $now
