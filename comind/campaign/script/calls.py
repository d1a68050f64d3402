"""Effects of calls: functions with known effects, aliases of arguments, and files read and written.

A call that is not known to be pure may mutate whatever it is given.
"""

import ast
import re
from dataclasses import dataclass, field

ANY_FILE = "file:*"
"""A file whose name is unknown."""

_FILE = re.compile(r"(?:^|/)([\w\-. ]*[\w\-]\.[A-Za-z][\w.]{0,9})$")
_RANDOM = "random:"  # the global random generators, treated as one variable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HARMLESS_BUILTINS = _words(
    "abs all any bin bool bytes callable chr complex dir display divmod float format frozenset hasattr "
    "hash hex id int isinstance issubclass len max min oct ord pow print range repr round slice str sum "
    "type super property staticmethod classmethod object BaseException Exception ValueError KeyError "
    "TypeError RuntimeError IndexError NotImplementedError AssertionError StopIteration OSError"
)
"""Pure: return a new object."""

_HOLDING_BUILTINS = _words(
    "dict enumerate filter getattr iter list map next reversed set sorted tuple zip vars"
)
"""Mutate nothing, but return an object that contains their arguments."""

_WORLD_BUILTINS = _words(
    "__import__ breakpoint compile delattr eval exec exit get_ipython globals input locals quit setattr"
)
"""Can have any effect."""

_HARMLESS_METHODS = _words(
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

_ADDERS = _words("add append appendleft extend insert setdefault update register_buffer add_module push")
"""Add their arguments to their object."""

_FILE_WRITERS = _words(
    "to_csv to_parquet to_pickle to_feather to_json to_hdf to_excel to_sql to_stata to_xml to_html "
    "to_markdown to_latex save savez savez_compressed savetxt save_model save_weights save_pretrained "
    "savefig dump dump_model write write_text write_bytes write_image write_html writelines writerow "
    "writerows imsave imwrite tofile export_model export_graphviz write_table write_csv write_parquet"
)

_FILE_READERS = _words(
    "read_csv read_parquet read_pickle read_feather read_json read_hdf read_excel read_table read_fwf "
    "load load_model load_weights load_state_dict from_pretrained loadtxt genfromtxt fromfile imread "
    "read_text read_bytes glob iglob rglob listdir scandir iterdir walk exists isfile is_file read"
)

_SYSTEM_MODULES = _words(
    "os shutil subprocess sys importlib signal ctypes resource tempfile gc builtins"
)

_HARMLESS_SYSTEM = _words(
    "os.cpu_count os.getcwd os.getenv os.listdir os.scandir os.walk os.stat os.getpid os.join os.exists "
    "os.basename os.dirname os.isfile os.isdir os.splitext os.abspath os.getsize os.get gc.collect "
    "sys.getsizeof shutil.which shutil.disk_usage sys.exc_info os.path.join os.path.exists "
    "os.path.basename os.path.dirname os.path.isfile os.path.isdir os.path.splitext os.path.getsize"
)
"""Functions of these modules without effects."""

_RANDOM_MODULES = ("random", "numpy.random", "torch", "tensorflow", "jax")
"""Modules whose functions may draw from a global generator."""

_SEEDS = _words("seed manual_seed manual_seed_all set_seed seed_everything set_random_seed seed_all")

_SHAPERS = _words("shuffle heappush heappop heapify copyto fill_diagonal put place putmask insort")
"""Library functions that mutate their arguments and return a value."""

_TABLES = _words("DataFrame Series Index array Array Categorical MultiIndex Timestamp Path")
"""Classes that copy their arguments, or are immutable."""


@dataclass(slots=True)
class Effects:
    """Effects of one statement, or of several that share a line."""

    binds: set[str] = field(default_factory=set)
    """Symbols that surely get a new value."""
    touches: set[str] = field(default_factory=set)
    """Symbols that may be rebound or mutated."""
    uses: set[str] = field(default_factory=set)
    shares: list[set[str]] = field(default_factory=list)
    """Sets of names that may alias the same object afterwards."""
    lasting: bool = False
    """Whether global state may change that has no name."""

    def add(self, other: "Effects") -> None:
        """Merge the effects of code that is run as a part of this."""
        self.touches |= other.touches
        self.uses |= other.uses
        self.lasting |= other.lasting


@dataclass(slots=True)
class Symbols:
    """Symbol table of a whole program."""

    modules: dict[str, str] = field(default_factory=dict)
    """Imported names, with the module or attribute that they refer to."""
    own: dict[str, Effects] = field(default_factory=dict)
    """Effects of calling a function or class defined in the program."""
    objects: set[str] = field(default_factory=set)
    """Symbols of class instances that a call might mutate; tables excluded."""

    def called(self, names: set[str]) -> Effects:
        """Return the effects of using `names`, through all functions that they call."""
        total, waiting, seen = Effects(), set(names), set()
        while waiting:
            name = waiting.pop()
            seen.add(name)
            if name in self.own:
                total.add(self.own[name])
                waiting |= self.own[name].uses - seen
        return total


def file_of(text: str) -> str | None:
    """Return the name of a file in `Effects`; None if `text` is not a file name."""
    found = _FILE.search(text.strip())
    return f"file:{found.group(1)}" if found and len(text) < 300 else None  # noqa: PLR2004 - no path


def _named_files(call: ast.Call) -> set[str]:
    """Return the files that a call names by literals; none if a name is formatted."""
    if any(isinstance(each, ast.JoinedStr) for each in ast.walk(call)):
        return set()
    texts = [each.value for each in ast.walk(call) if isinstance(each, ast.Constant)]
    return {name for text in texts if isinstance(text, str) and (name := file_of(text))}


def _mode_of(call: ast.Call) -> str:
    """Return `r` if a call of `open` only reads, else `w`."""
    given = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "mode")]
    if not given and isinstance(call.func, ast.Attribute):  # Path.open(mode)
        given = call.args[:1]
    if not given:
        return "r"
    text = given[0].value if isinstance(given[0], ast.Constant) else "w"
    return "r" if str(text).strip("tb") == "r" else "w"


def roots(node: ast.AST) -> set[str]:
    """Return the root variables of a target or an attribute chain."""
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Starred(value=inner):
            return roots(inner)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return {name for part in parts for name in roots(part)}
        case ast.Call(func=function):
            return roots(function)
        case _:
            return set()


def held(value: ast.AST, symbols: Symbols) -> set[str]:
    """Return the variables whose objects an expression's value may alias or contain."""
    match value:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return roots(value) - set(symbols.modules)
        case ast.Call() as call:
            return _held_by_call(call.func, _arguments(call), symbols)
        case ast.Lambda() | ast.JoinedStr() | ast.Constant() | ast.BinOp() | ast.Compare():
            return set()
        case _:
            return {name for child in ast.iter_child_nodes(value) for name in held(child, symbols)}


def _held_by_call(function: ast.expr, parts: list[ast.expr], symbols: Symbols) -> set[str]:
    given = {name for part in parts for name in held(part, symbols)}
    match function:
        case ast.Name(id=name) if name in _HOLDING_BUILTINS or name in symbols.own:
            return given
        case ast.Name(id=name) if name in _HARMLESS_BUILTINS:
            return set()
        case ast.Name(id=name) if name in symbols.modules:
            return given if name[:1].isupper() else set()
        case ast.Attribute(attr=name) if roots(function) & set(symbols.modules):
            return given if name[:1].isupper() and name not in _TABLES else set()
        case ast.Attribute(attr=name) if name in _HARMLESS_METHODS:
            return set()
        case ast.Attribute():
            return roots(function) | (given if function.attr in _ADDERS else set())
        case _:
            return roots(function) | given


def makes_object(call: ast.Call) -> bool:
    """Return whether a call instantiates a mutable class, by its capitalized name."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return bool(name[:1].isupper()) and name not in _TABLES


def read_discarded(call: ast.Call, found: Effects, symbols: Symbols) -> None:
    """Add the effects of a call whose value is discarded, so that it must mutate something."""
    function, name = call.func, _called(call)
    imported = roots(function) & set(symbols.modules)
    if _is_harmless(function, name, symbols) or name in _FILE_WRITERS:
        return  # handled by `read_call`
    if isinstance(function, ast.Name) and not imported:
        return
    names = _given(call) - set(symbols.modules)
    if imported:
        found.touches |= names
        found.lasting = found.lasting or not names
    else:
        found.touches |= names & symbols.objects


def _is_harmless(function: ast.expr, name: str, symbols: Symbols) -> bool:
    if isinstance(function, ast.Name):
        return name in _HARMLESS_BUILTINS and name not in symbols.own
    path = ".".join((symbols.modules.get(next(iter(roots(function)), ""), ""), name))
    return name in _HARMLESS_METHODS or path in _HARMLESS_SYSTEM


def _called(call: ast.Call) -> str:
    """Return the last part of a function's name."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else next(iter(roots(function)), "")


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _given(call: ast.Call) -> set[str]:
    """Return the root variables of a call's arguments."""
    return {name for part in _arguments(call) for name in roots(part)}


def read_call(call: ast.Call, found: Effects, symbols: Symbols) -> None:
    """Add the effects of a call: files, global state, random generators, and its arguments."""
    function, name = call.func, _called(call)
    imported = {symbols.modules[each] for each in roots(function) if each in symbols.modules}
    found.uses.add(_RANDOM)  # any call may draw, so earlier seeding and drawing is kept
    if name in _SEEDS:
        found.lasting = True
    if any(each.split(".")[0] in _SYSTEM_MODULES for each in imported):
        module = next(iter(imported))
        path = f"{module}.{name}" if isinstance(function, ast.Attribute) else module
        found.lasting = found.lasting or path not in _HARMLESS_SYSTEM
    if any(each.startswith(_RANDOM_MODULES) for each in imported) or "random" in _path(function):
        found.touches.add(_RANDOM)
    if (name in _FILE_READERS or name == "open") and not _named_files(call):
        found.uses.add(ANY_FILE)
    if name in _FILE_WRITERS or (name == "open" and _mode_of(call) != "r"):
        _write_file(call, found)
    elif isinstance(function, ast.Attribute) and not imported:
        _read_method(call, function, found, symbols)
    elif isinstance(function, ast.Name) and not imported:
        _read_function(call, name, found, symbols)
    elif name in _SHAPERS:
        found.touches |= _given(call)


def _path(function: ast.expr) -> list[str]:
    parts = []
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    return parts


def _read_method(call: ast.Call, function: ast.Attribute, found: Effects, symbols: Symbols) -> None:
    in_place = any(each.arg in ("inplace", "out") for each in call.keywords)
    if function.attr not in _HARMLESS_METHODS or in_place:
        found.touches |= roots(function)
    if function.attr in _ADDERS:
        given = {each for part in _arguments(call) for each in held(part, symbols)}
        found.shares.append(roots(function) | given)


def _read_function(call: ast.Call, name: str, found: Effects, symbols: Symbols) -> None:
    if name in _WORLD_BUILTINS:
        found.lasting = True
    if name not in _HARMLESS_BUILTINS | _HOLDING_BUILTINS or name in symbols.own:
        found.touches |= (_given(call) | {name}) - set(symbols.modules)


def _write_file(call: ast.Call, found: Effects) -> None:
    named = _named_files(call)
    found.touches |= named
    if not named or any(name.endswith(".py") for name in named):
        found.lasting = True  # it may be a submission, or a module
