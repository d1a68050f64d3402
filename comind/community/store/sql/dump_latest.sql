-- The latest time in a dump, a lower bound of the time of observation of what has no time.
SELECT max(latest) AS latest FROM (
    SELECT max(CreationDate) AS latest FROM KernelVersions
    UNION ALL SELECT max(VoteDate) FROM KernelVotes
    UNION ALL SELECT max(PostDate) FROM ForumMessages
    UNION ALL SELECT max(VoteDate) FROM ForumMessageVotes
    UNION ALL SELECT max(CreationDate) FROM DatasetVersions
    UNION ALL SELECT max(SubmissionDate) FROM Submissions
)
