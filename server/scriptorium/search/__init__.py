"""Search over claims of blocks and source records: BM25, embeddings, and both fused."""
