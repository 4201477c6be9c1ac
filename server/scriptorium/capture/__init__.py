"""How conversation becomes memory: transcripts in, one transaction a batch out."""
