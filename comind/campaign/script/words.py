"""List functions with known effects; all others are assumed to mutate their arguments."""

__all__ = [
    "ADDERS",
    "FILE_READERS",
    "FILE_WRITERS",
    "HARMLESS_BUILTINS",
    "HARMLESS_METHODS",
    "HARMLESS_SYSTEM",
    "HOLDING_BUILTINS",
    "RANDOM_MODULES",
    "SEEDS",
    "SHAPERS",
    "SYSTEM_MODULES",
    "TABLES",
    "WORLD_BUILTINS",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HARMLESS_BUILTINS = _words(
    "abs all any bin bool bytes callable chr complex dir display divmod float format frozenset hasattr "
    "hash hex id int isinstance issubclass len max min oct ord pow print range repr round slice str sum "
    "type super property staticmethod classmethod object BaseException Exception ValueError KeyError "
    "TypeError RuntimeError IndexError NotImplementedError AssertionError StopIteration OSError"
)
"""Pure: return a new object."""

HOLDING_BUILTINS = _words(
    "dict enumerate filter getattr iter list map next reversed set sorted tuple zip vars"
)
"""Mutate nothing, but return an object that contains their arguments."""

WORLD_BUILTINS = _words(
    "__import__ breakpoint compile delattr eval exec exit get_ipython globals input locals quit setattr"
)
"""Can have any effect."""

HARMLESS_METHODS = _words(
    "abs all any argmax argmin argsort astype capitalize clip columns copy corr count cov cumsum "
    "decode describe diff difference drop_duplicates dropna dtype duplicated encode endswith eq "
    "fillna find first flatten format from_dict ge get_feature_names_out get_params groupby gt head "
    "idxmax idxmin index info intersection isalpha isdigit isin isna isnull isnumeric item items join "
    "keys kurt last le loc lower lstrip lt map match max mean median melt memory_usage merge min mode "
    "ne nlargest notna notnull nsmallest nunique numpy predict predict_log_proba predict_proba "
    "decision_function prod quantile rank reindex rename replace reset_index round rstrip score "
    "select_dtypes set_axis set_index shape shift size skew sort_index sort_values split splitlines "
    "squeeze startswith std strip sum tail title to_dict to_frame to_list to_numpy to_period to_string "
    "to_timestamp tolist transform transpose union unique upper value_counts values var zfill "
    "drop assign apply applymap agg aggregate pivot pivot_table stack unstack explode sample query "
    "between where mask cut qcut exists is_file is_dir plot hist boxplot"
)
"""Do not mutate their object, and return a new one (unless in place)."""

ADDERS = _words("add append appendleft extend insert setdefault update register_buffer add_module push")
"""Add their arguments to their object."""

FILE_WRITERS = _words(
    "to_csv to_parquet to_pickle to_feather to_json to_hdf to_excel to_sql to_stata to_xml to_html "
    "to_markdown to_latex save savez savez_compressed savetxt save_model save_weights save_pretrained "
    "savefig dump dump_model write write_text write_bytes write_image write_html writelines writerow "
    "writerows imsave imwrite tofile export_model export_graphviz write_table write_csv write_parquet"
)

FILE_READERS = _words(
    "read_csv read_parquet read_pickle read_feather read_json read_hdf read_excel read_table read_fwf "
    "load load_model load_weights load_state_dict from_pretrained loadtxt genfromtxt fromfile imread "
    "read_text read_bytes glob iglob rglob listdir scandir iterdir walk exists isfile is_file read"
)

SYSTEM_MODULES = _words("os shutil subprocess sys importlib signal ctypes resource tempfile gc builtins")

HARMLESS_SYSTEM = _words(
    "os.cpu_count os.getcwd os.getenv os.listdir os.scandir os.walk os.stat os.getpid os.join os.exists "
    "os.basename os.dirname os.isfile os.isdir os.splitext os.abspath os.getsize os.get gc.collect "
    "sys.getsizeof shutil.which shutil.disk_usage sys.exc_info os.path.join os.path.exists "
    "os.path.basename os.path.dirname os.path.isfile os.path.isdir os.path.splitext os.path.getsize"
)
"""Functions of these modules without effects."""

RANDOM_MODULES = ("random", "numpy.random", "torch", "tensorflow", "jax")
"""Modules whose functions may draw from a global generator."""

SEEDS = _words("seed manual_seed manual_seed_all set_seed seed_everything set_random_seed seed_all")

SHAPERS = _words("shuffle heappush heappop heapify copyto fill_diagonal put place putmask insort")
"""Library functions that mutate their arguments and return a value."""

TABLES = _words("DataFrame Series Index array Array Categorical MultiIndex Timestamp Path")
"""Classes that copy their arguments, or are immutable."""
