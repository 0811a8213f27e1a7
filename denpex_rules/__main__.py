"""`python -m denpex_rules`: the same as `rulecheck`."""

from denpex_rules.cli import main

if __name__ == "__main__":
    main()
