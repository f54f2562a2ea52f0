"""Sequences of different lengths in one tensor."""

from ... import _tenon


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right") -> "Tensor":
    """Sequences side by side, filled up to the longest: (length, batch, ...), or (batch, length, ...) with batch_first.

    >>> from tenon import tensor
    >>> from tenon.nn.utils.rnn import pad_sequence
    >>> pad_sequence([tensor([1, 2]), tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    sequences = list(sequences)
    longest = max(len(one) for one in sequences)

    def filled(one):
        missing = longest - len(one)
        if not missing:
            return one
        fill = _tenon.full((missing, *one.shape[1:]), padding_value, dtype=one.dtype, device=one.device)
        return _tenon.cat([one, fill] if padding_side == "right" else [fill, one])

    return _tenon.stack([filled(one) for one in sequences], 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of different lengths again."""
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [one[:int(length)] for one, length in zip(batch, lengths)]
