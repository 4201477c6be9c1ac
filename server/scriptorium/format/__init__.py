"""Text ⇄ types, pure: the topic contract, ids, paths, sources, patches and views. No I/O."""
