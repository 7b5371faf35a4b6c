"""Prices too low, caps too high, conversions that promise too much, ledgers that can be spent twice."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

A = "accounting/"
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
        f"{A}currency.py",
        "math.ceil(self.cost(event)",
        "math.floor(self.cost(event)",
        CURRENCY,
    ),
    Mutant(
        "small queries are free",
        f"{A}currency.py",
        "return max(1, math.ceil(self.cost(event) * UNITS_PER_ONE))",
        "return round(self.cost(event) * UNITS_PER_ONE)",
        CURRENCY,
    ),
    Mutant(
        "delta's thousandth not set aside",
        f"{A}currency.py",
        "Fraction(budget.delta) * (1 - LATTICE_SHARE)",
        "Fraction(budget.delta)",
        CURRENCY,
    ),
    Mutant(
        "mu counted for mu^2", f"{A}currency.py", "return math.nextafter(mu * mu, 0.0)", "return mu", CURRENCY
    ),
    Mutant(
        "pure answers at the zCDP price",
        f"{A}currency.py",
        "Fraction(gdp.mu_of_pure(event.epsilon)) ** 2",
        "Fraction(event.epsilon) ** 2",
        CURRENCY,
    ),
    Mutant(
        "amplification in a gdp ledger",
        f"{A}currency.py",
        "            case SubsampledGaussianEvent() | SharedBatchEvent():\n"
        "                raise _needs_renyi()",
        "            case SubsampledGaussianEvent():\n"
        "                return mu_squared_of(event) * Fraction(event.batch, event.population) ** 2",
        CURRENCY,
    ),
    Mutant(
        "answers of one batch amplified apart",
        f"{A}renyi/currency.py",
        "                together = sum((mu_squared_of(part) for part in event.parts), Fraction(0))\n",
        "                together = mu_squared_of(event.parts[0])\n",
        CURRENCY,
    ),
    Mutant(
        "a Gaussian without its order",
        f"{A}renyi/exchange.py",
        "return order * mu_squared / 2",
        "return mu_squared / 2",
        RDP,
    ),
    Mutant(
        "a pure answer at a quarter",
        f"{A}renyi/exchange.py",
        "order * epsilon * epsilon / 2)",
        "order * epsilon * epsilon / 8)",
        RDP,
    ),
    Mutant("amplified moments too small", f"{A}renyi/subsampling.py", "math.log(4.0) + (low", "(low", RDP),
    Mutant("amplified twice", f"{A}renyi/subsampling.py", "+ j * log_rate +", "+ 2 * j * log_rate +", RDP),
    Mutant(
        "wrong Gaussian conversion",
        f"{A}gdp.py",
        "lower = -epsilon / mu - mu / 2.0",
        "lower = -epsilon / mu - mu",
        GDP,
    ),
    Mutant(
        "mu rounded up",
        f"{A}gdp.py",
        'nonnegative("epsilon", epsilon), _usable(delta) * (1.0 - DELTA_SLACK)',
        'nonnegative("epsilon", epsilon), _usable(delta) * (1.0 + 1e-6)',
        GDP,
    ),
    Mutant("continued fraction cut short", f"{A}gdp.py", "_FRACTIONS = 30", "_FRACTIONS = 6", GDP),
    Mutant("rounding of a square left in", f"{A}gdp.py", "* (1.0 + lost)", "* 1.0", GDP),
    Mutant("pure answers' mu too small", f"{A}gdp.py", "return mu * (1.0 + 1e-13)", "return mu * 0.999", GDP),
    Mutant(
        "wrong Renyi conversion",
        f"{A}renyi/exchange.py",
        "math.log(_probability(delta) * order) / (order - 1.0)",
        "math.log(_probability(delta)) / order",
        "tests/accounting/test_convert.py",
    ),
    Mutant(
        "lattice charged for one entry",
        f"{A}allowance.py",
        "TOTAL_VARIATION * event.entries *",
        "TOTAL_VARIATION *",
        LATTICE,
    ),
    Mutant(
        "lattice reserve without e^epsilon",
        f"{A}allowance.py",
        "share = math.exp(-budget.epsilon) / (1.0 + math.exp(-budget.epsilon))",
        "share = 0.5",
        LATTICE,
    ),
)

FILTER = (
    Mutant(
        "filter off by one",
        f"{A}store.py",
        "self.units <= cap.units and",
        "self.units <= cap.units + 1 and",
        f"{LEDGER}::test_the_last_unit_can_be_spent_and_no_more",
    ),
    Mutant("lattice never refused", f"{A}store.py", " and self.lattice <= cap.lattice", "", LATTICE),
    Mutant(
        "run's own budget not checked",
        f"{A}run.py",
        "if not after.within(self._allowed.cap):",
        "if False:",
        LEDGER,
    ),
    Mutant(
        "refund when the store fails", f"{A}run.py", "except BudgetExceeded:", "except Exception:", LEDGER
    ),
    Mutant(
        "charge not written",
        f"{A}ledger.py",
        "        self._append(grant)\n        return grant",
        "        return grant",
        LEDGER,
    ),
    Mutant(
        "a run larger than the cap begins",
        f"{A}ledger.py",
        "if run.units_cap > left:",
        "if run.units_cap > 2 * left:",
        LEDGER,
    ),
    Mutant(
        "a deep copy gets a purse of its own",
        f"{A}ledger.py",
        "    def __deepcopy__(self, memo: dict[int, object]) -> Self:\n        return self",
        "    def __deepcopy__(self, memo: dict[int, object]) -> Self:\n        return type(self)(self._cap)",
        f"{LEDGER} -k copies",
    ),
    Mutant(
        "a fork gets a purse of its own",
        f"{A}store.py",
        "if os.getpid() != self._process:",
        "if False:",
        f"{LEDGER} -k forked",
    ),
)

FILE = (
    Mutant(
        "file's filter looks before the grant",
        f"{A}disk/sqlite_store.py",
        "spent.plus(grant).within(cap)",
        "spent.within(cap)",
        STORE,
    ),
    Mutant(
        "check and insert not one step",
        f"{A}disk/ledger_file.py",
        '_transaction("BEGIN IMMEDIATE", anywhere)',
        '_transaction("BEGIN", anywhere)',
        f"{STORE} -k racing",
    ),
    Mutant(
        "charge never committed",
        f"{A}disk/ledger_file.py",
        'connection.execute("COMMIT")\n            self._known',
        'connection.execute("ROLLBACK")\n            self._known',
        STORE,
    ),
    Mutant("weaker synchronisation unnoticed", f"{A}disk/ledger_file.py", ' ("synchronous", 2),', "", STORE),
    Mutant("log mode unnoticed", f"{A}disk/ledger_file.py", '(("journal_mode", "wal"), ', "(", STORE),
    Mutant(
        "moved file accepted", f"{A}disk/ledger_file.py", "if home != self._place():", "if False:", DAMAGE
    ),
    Mutant(
        "changed entry accepted",
        f"{A}disk/entries.py",
        " or seal != entry.seal(self.head)",
        "",
        f"{DAMAGE}::test_a_changed_entry_is_refused_and_the_way_out_named",
    ),
    Mutant(
        "lost tail accepted", f"{A}disk/ledger_file.py", "if named != (", "if False and named != (", DAMAGE
    ),
    Mutant(
        "older state accepted", f"{A}disk/ledger_file.py", "if row != (known.head,):", "if False:", DAMAGE
    ),
    Mutant(
        "anchor's seal not looked for",
        f"{A}disk/statement.py",
        "if anchor.ledger_head not in seals:",
        "if False:",
        DAMAGE,
    ),
    Mutant(
        "raised cap accepted", f"{A}disk/opening.py", "mine is not None and mine != theirs", "False", STORE
    ),
    Mutant(
        "failure of the disk ignored",
        f"{A}disk/ledger_file.py",
        "    except (sqlite3.Error, OSError,",
        "    except sqlite3.OperationalError:\n        return\n    except (sqlite3.Error, OSError,",
        f"{DAMAGE} -k disk",
    ),
    Mutant(
        "a file is known by its inode alone",
        f"{A}disk/ledger_file.py",
        "if home != self._place():",
        "if (home.path, home.inode) != (self._place().path, self._place().inode):",
        f"{IDENTITY} -k birth",
    ),
    Mutant(
        "undone charges accepted beside their witness",
        f"{A}disk/ledger_file.py",
        "if mark is not None and not transaction.holds(mark):",
        "if False:",
        IDENTITY,
    ),
    Mutant(
        "a fresh cap where a ledger was deleted",
        f"{A}disk/ledger_file.py",
        "if mark is not None and mark.number and not self.exists():",
        "if False:",
        IDENTITY,
    ),
    Mutant(
        "a missing witness accepted",
        f"{A}disk/ledger_file.py",
        "        if mark is None:",
        "        if False:",
        IDENTITY,
    ),
    Mutant(
        "a witness goes back",
        f"{A}disk/identity.py",
        "if mark.number > self._mark(handle).number:",
        "if True:",
        IDENTITY,
    ),
    Mutant(
        "'c ' is another data set than 'c'",
        f"{A}disk/identity.py",
        'if printable else ""',
        'if printable else ""\n    name = str(given) if printable else ""',
        IDENTITY,
    ),
)
