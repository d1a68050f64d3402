"""The as-of store: an append-only history of communities as dated records.

A store is a folder of Parquet files, a few per import, and `store.json`, which lists the imports. An
import changes and removes nothing, so versions of a store share their files, and an as-of query of an
earlier moment keeps its answer.

engine         DuckDB; the only module that imports it
schema         kinds of records and their columns
manifest       store.json: imports, what each added and what it dropped
importing      import of a source: idempotent, resumable, locked
writing        deduplicate new records, and write them as Parquet files
queries        as-of queries of one competition, as items
as_of_store    CommunityStore: read a store
source_code    source code of notebooks, in the store or in a copy of Meta Kaggle Code
folder_import  import community folders and listings; records: their items as records
meta_kaggle    import Meta Kaggle's tables
"""
