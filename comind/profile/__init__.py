"""Profile the public files of a split as one text for prompts, within a token budget.

Statistics are computed over all rows. Only the public folder is read, so the text cannot leak labels of
validation or test rows.

profile            compute and order all sections of the text
text_budget        fit sections into a number of tokens
duckdb_tables      load tables of any size into DuckDB
column_statistics  compute statistics of each column
prompts            the wording, as templates: a column, overlaps, files, tables
overlaps           count values and rows that validation and test share with train
side_files         group side files, and match them to rows
media              look at samples of images, audio, arrays and text files
formatting         format numbers, shares and values: filters of the templates
"""
