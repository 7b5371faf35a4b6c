#!/usr/bin/env bash
# A user's day: UCI's Adult file as it is published, to a private model in use in three other tools.
# Usage: docs/tour.sh adult.csv.gz [FOLDER]. Needs the extras sql and onnx, pandas and onnxruntime.
set -euo pipefail
data="$(realpath "$1")"
tour="$(cd "$(dirname "$0")/tour" && pwd)"
python="${PYTHON:-python3}"
sottovoce() { "$python" -m sottovoce "$@"; }
cd "${2:-$(mktemp -d)}"

echo "== names of columns, to declare from the codebook: done in docs/tour/adult.toml"
sottovoce schema "$data" -o template.toml
echo "== what the declaration finds, for the owner's eyes"
sottovoce check "$data" --schema "$tour/adult.toml"
echo "== what a budget buys, before any row is read"
sottovoce plan --rows 32561 --schema "$tour/adult.toml" --epsilon 1 --delta 1e-6
echo "== a cap for these people, for good"
sottovoce ledger create adult.db --dataset adult --epsilon 2 --delta 1e-6
echo "== a model, measured on rows held out, with its coefficients and what is known of them"
sottovoce fit "$data" --schema "$tour/adult.toml" --epsilon 1 --delta 1e-6 --evaluate 0.1 --inference 0.2 --anyway \
  --ledger adult.db --dataset adult --purpose "A tour of Sottovoce" --contact "privacy@example.org" \
  -o model.json --report report.html
sottovoce ledger show adult.db
echo "== the same summary from the model file, as a table for other tools"
sottovoce summary model.json --csv summary.csv
head -3 summary.csv
echo "== the page for the privacy officer"
sottovoce report model.json -o officer.html
echo "== the same model elsewhere"
sottovoce predict model.json "$data" -o predictions.csv
sottovoce export model.json --format sql --table adult -o score.sql
sottovoce export model.json --format onnx -o model.onnx
sottovoce export model.json --format sklearn -o pipeline.pickle
"$python" -I "$tour/compare.py" "$data" .
