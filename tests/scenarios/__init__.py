"""Invented jobs of many ranks and hosts, each with its truth: nobody innocent may be accused."""
