"""The as-of store: what a community did, as dated records that only grow in number.

A store is a folder of Parquet files, a few for each import, and `store.json`, which lists the imports.
Nothing in it is changed or removed by a later import, so its versions share all that they have in
common, and what was known at an earlier moment stays what it was.

engine      DuckDB, the one module that knows it
schema      kinds of records and their columns
manifest    store.json: which imports there are, what they took and what they dropped
writing     new records of an import -> parts, each record once
asked       the items of one competition as of a moment
reading     CommunityStore: the way in for everybody else
code        where programs lie: kept in the store, or in a copy of Meta Kaggle Code
ingest      what can be taken into a store; importing, what every import does
folders     imports of community folders and listings; records, what is taken of their items
dump        import of Meta Kaggle's tables; tables names their columns
"""
