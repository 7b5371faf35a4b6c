"""Prices too low, caps too high, conversions that promise too much, ledgers that can be spent twice."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

LEDGER = "tests/accounting/test_ledger.py"
CURRENCY = "tests/accounting/test_currency.py"
GDP = "tests/accounting/test_gdp.py"
RDP = "tests/accounting/test_rdp.py"
LATTICE = "tests/accounting/test_lattice_price.py"
STORE = "tests/accounting/test_sqlite_store.py"
DAMAGE = "tests/accounting/test_ledger_damage.py"
IDENTITY = "tests/accounting/test_ledger_identity.py"

PRICES = (
    Mutant(
        "prices rounded down",
        "accounting.currency:Currency.price",
        "math.ceil(self.cost(event) * UNITS_PER_ONE)",
        "math.floor(self.cost(event) * UNITS_PER_ONE)",
        CURRENCY,
    ),
    Mutant(
        "small queries are free",
        "accounting.currency:Currency.price",
        "max(1, math.ceil(self.cost(event) * UNITS_PER_ONE))",
        "round(self.cost(event) * UNITS_PER_ONE)",
        CURRENCY,
    ),
    Mutant(
        "delta's thousandth not set aside",
        "accounting.currency:Currency.cap",
        "Fraction(budget.delta) * (1 - LATTICE_SHARE)",
        "Fraction(budget.delta)",
        CURRENCY,
    ),
    Mutant(
        "mu counted for mu^2", "accounting.currency:Gdp.worth", "math.nextafter(mu * mu, 0.0)", "mu", CURRENCY
    ),
    Mutant(
        "pure answers at the zCDP price",
        "accounting.currency:Gdp.cost",
        "gdp.mu_of_pure(event.epsilon)",
        "event.epsilon",
        CURRENCY,
    ),
    Mutant(
        "amplification in a gdp ledger",
        "accounting.currency:Gdp.cost",
        (
            "match event:\n"
            "    case GaussianEvent():\n"
            "        ...\n"
            "    case PureEvent():\n"
            "        ...\n"
            "    case SubsampledGaussianEvent():\n"
            "        raise _needs_renyi()\n"
            "    case _:\n"
            "        ..."
        ),
        (
            "match event:\n"
            "    case GaussianEvent():\n"
            "        ...\n"
            "    case PureEvent():\n"
            "        ...\n"
            "    case SubsampledGaussianEvent():\n"
            "        return mu_squared_of(event) * Fraction(event.batch, event.population) ** 2\n"
            "    case _:\n"
            "        ..."
        ),
        CURRENCY,
    ),
    Mutant(
        "a Gaussian without its order",
        "accounting.renyi.exchange:gaussian",
        "order * mu_squared",
        "mu_squared",
        RDP,
    ),
    Mutant(
        "a pure answer at a quarter",
        "accounting.renyi.exchange:pure",
        "order * epsilon * epsilon / 2",
        "order * epsilon * epsilon / 8",
        RDP,
    ),
    Mutant(
        "amplified moments too small",
        "accounting.renyi.subsampling:_log_moment",
        "math.log(4.0) + (low + high) / 2.0",
        "(low + high) / 2.0",
        RDP,
    ),
    Mutant(
        "amplified twice", "accounting.renyi.subsampling:_log_moment", "j * log_rate", "2 * j * log_rate", RDP
    ),
    Mutant(
        "wrong Gaussian conversion",
        "accounting.gdp:delta_of",
        "-epsilon / mu - mu / 2.0",
        "-epsilon / mu - mu",
        GDP,
    ),
    Mutant(
        "mu rounded up",
        "accounting.gdp:mu_of",
        "1.0 - DELTA_SLACK",
        "1.0 + 1e-06",
        GDP,
    ),
    Mutant("continued fraction cut short", "accounting.gdp", "_FRACTIONS = 30", "_FRACTIONS = 6", GDP),
    Mutant("rounding of a square left in", "accounting.gdp:erfcx", "1.0 + lost", "1.0", GDP),
    Mutant("pure answers' mu too small", "accounting.gdp:mu_of_pure", "1.0 + 1e-13", "0.999", GDP),
    Mutant(
        "wrong Renyi conversion",
        "accounting.renyi.exchange:_discount",
        "math.log(_probability(delta) * order) / (order - 1.0)",
        "math.log(_probability(delta)) / order",
        "tests/accounting/test_convert.py",
    ),
    Mutant(
        "lattice charged for one entry",
        "accounting.allowance:lattice_units",
        "TOTAL_VARIATION * event.entries",
        "TOTAL_VARIATION",
        LATTICE,
    ),
    Mutant(
        "lattice reserve without e^epsilon",
        "accounting.allowance:lattice_cap",
        "math.exp(-budget.epsilon) / (1.0 + math.exp(-budget.epsilon))",
        "0.5",
        LATTICE,
    ),
)

FILTER = (
    Mutant(
        "filter off by one",
        "accounting.store:Totals.within",
        "self.units <= cap.units",
        "self.units <= cap.units + 1",
        f"{LEDGER}::test_the_last_unit_can_be_spent_and_no_more",
    ),
    Mutant(
        "lattice never refused",
        "accounting.store:Totals.within",
        "self.units <= cap.units and self.lattice <= cap.lattice",
        "self.units <= cap.units",
        LATTICE,
    ),
    Mutant(
        "run's own budget not checked",
        "accounting.run:Run._charge",
        "not after.within(self._allowed.cap)",
        "False",
        LEDGER,
    ),
    Mutant(
        "refund when the store fails",
        "accounting.run:Run._charge",
        ("try:\n    ...\nexcept BudgetExceeded:\n    ..."),
        ("try:\n    ...\nexcept Exception:\n    ..."),
        LEDGER,
    ),
    Mutant(
        "charge not written",
        "accounting.ledger:Ledger.charge",
        "self._append(grant)",
        "",
        LEDGER,
    ),
    Mutant(
        "a run larger than the cap begins",
        "accounting.ledger:Ledger._require_covered",
        "needed > left.units",
        "needed > 2 * left.units",
        LEDGER,
    ),
    Mutant(
        "a deep copy gets a purse of its own",
        "accounting.ledger:Ledger.__deepcopy__",
        "return self",
        "return type(self)(self._cap)",
        f"{LEDGER} -k copies",
    ),
    Mutant(
        "a fork gets a purse of its own",
        "accounting.store:MemoryStore._here",
        "os.getpid() != self._process",
        "False",
        f"{LEDGER} -k forked",
    ),
)

FILE = (
    Mutant(
        "file's filter looks before the grant",
        "accounting.disk.sqlite_store:SqliteStore._in_the_way",
        "before.plus(grant).within(cap)",
        "before.within(cap)",
        STORE,
    ),
    Mutant(
        "check and insert not one step",
        "accounting.disk.ledger_file:LedgerFile.writing",
        "self._transaction('BEGIN IMMEDIATE', anywhere)",
        "self._transaction('BEGIN', anywhere)",
        f"{STORE} -k racing",
    ),
    Mutant(
        "charge never committed",
        "accounting.disk.ledger_file:LedgerFile._transaction",
        "connection.execute('COMMIT')",
        "connection.execute('ROLLBACK')",
        STORE,
    ),
    Mutant(
        "weaker synchronisation unnoticed",
        "accounting.disk.ledger_file",
        "(('journal_mode', 'wal'), ('synchronous', 2), _)",
        "(('journal_mode', 'wal'), _)",
        STORE,
    ),
    Mutant(
        "log mode unnoticed",
        "accounting.disk.ledger_file",
        "(('journal_mode', 'wal'), ('synchronous', 2), _)",
        "(('synchronous', 2), _)",
        STORE,
    ),
    Mutant(
        "moved file accepted",
        "accounting.disk.ledger_file:LedgerFile._require_home",
        "home != self._place()",
        "False",
        DAMAGE,
    ),
    Mutant(
        "changed entry accepted",
        "accounting.disk.entries:Chain._followed_by",
        "entry.number != self.number + 1 or seal != entry.seal(self.head)",
        "entry.number != self.number + 1",
        f"{DAMAGE}::test_a_changed_entry_is_refused_and_the_way_out_named",
    ),
    Mutant(
        "lost tail accepted",
        "accounting.disk.ledger_file:_caught_up",
        "named != ([(chain.number, chain.head)] if chain.number else [])",
        "False and named != ([(chain.number, chain.head)] if chain.number else [])",
        DAMAGE,
    ),
    Mutant(
        "older state accepted",
        "accounting.disk.ledger_file:_caught_up",
        "row != (known.head,)",
        "False",
        DAMAGE,
    ),
    Mutant(
        "anchor's seal not looked for",
        "accounting.disk.statement:_require_anchored",
        "anchor.ledger_head not in seals",
        "False",
        DAMAGE,
    ),
    Mutant(
        "raised cap accepted",
        "accounting.disk.opening:OnDisk.open",
        "mine is not None and mine != theirs",
        "False",
        STORE,
    ),
    Mutant(
        "failure of the disk ignored",
        "accounting.disk.ledger_file:_explained",
        ("try:\n    ...\nexcept _ as failure:\n    reason = _\n    way_out = _\n    raise _ from None"),
        (
            "try:\n"
            "    ...\n"
            "except sqlite3.OperationalError:\n"
            "    return\n"
            "except _ as failure:\n"
            "    reason = _\n"
            "    way_out = _\n"
            "    raise _ from None"
        ),
        f"{DAMAGE} -k disk",
    ),
    Mutant(
        "a file is known by its inode alone",
        "accounting.disk.ledger_file:LedgerFile._require_home",
        "home != self._place()",
        "(home.path, home.inode) != (self._place().path, self._place().inode)",
        f"{IDENTITY} -k birth",
    ),
    Mutant(
        "undone charges accepted beside their witness",
        "accounting.disk.ledger_file:LedgerFile._transaction",
        "mark is not None and (not transaction.holds(mark))",
        "False",
        IDENTITY,
    ),
    Mutant(
        "a fresh cap where a ledger was deleted",
        "accounting.disk.ledger_file:LedgerFile._require_nothing_was_here",
        "mark is not None and mark.number and (not self.exists())",
        "False",
        IDENTITY,
    ),
    Mutant(
        "a missing witness accepted",
        "accounting.disk.ledger_file:LedgerFile._require_home",
        "mark is None",
        "False",
        IDENTITY,
    ),
    Mutant(
        "a witness goes back",
        "accounting.disk.identity:Witness.advance",
        "mark.number > self._mark(handle).number",
        "True",
        IDENTITY,
    ),
    Mutant(
        "'c ' is another data set than 'c'",
        "accounting.disk.identity:dataset_name",
        "name = _",
        ("name = _\nname = str(given) if printable else ''"),
        IDENTITY,
    ),
)
