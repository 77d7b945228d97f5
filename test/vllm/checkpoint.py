"""checkpoint.py FOLDER: a Llama-shaped GPTQ int4 checkpoint with random weights, as vLLM loads it. Needs numpy.

A tensor at a time, seeded by its name, so that the same shapes give the same bytes. No tokenizer: the test gives token
numbers and asks for numbers.
"""
import json
import os
import struct
import sys
import zlib

import numpy

HIDDEN, INNER, LAYERS, HEADS, GROUPS, HEAD, VOCABULARY = 2048, 6656, 8, 16, 4, 128, 32768
GROUP = 128  # inputs that share a scale
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16", "hidden_act": "silu",
    "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "num_key_value_heads": GROUPS, "head_dim": HEAD, "vocab_size": VOCABULARY, "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 1,
    "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": GROUP, "desc_act": False, "sym": True,
                            "lm_head": True, "checkpoint_format": "gptq"},
}


def linear(name, inputs, outputs):
    """The four tensors of one quantized layer; a word holds eight codes, the stored zero point is 8 - 1 in each."""
    yield f"{name}.qweight", "I32", (inputs // 8, outputs), "codes"
    yield f"{name}.qzeros", "I32", (inputs // GROUP, outputs // 8), "zeros"
    yield f"{name}.scales", "F16", (inputs // GROUP, outputs), "scales"
    yield f"{name}.g_idx", "I32", (inputs,), "groups"


def tensors():
    yield "model.embed_tokens.weight", "BF16", (VOCABULARY, HIDDEN), "normal"
    for i in range(LAYERS):
        layer = f"model.layers.{i}"
        yield f"{layer}.input_layernorm.weight", "BF16", (HIDDEN,), "ones"
        yield f"{layer}.post_attention_layernorm.weight", "BF16", (HIDDEN,), "ones"
        for part, outputs in (("q", HEADS * HEAD), ("k", GROUPS * HEAD), ("v", GROUPS * HEAD)):
            yield from linear(f"{layer}.self_attn.{part}_proj", HIDDEN, outputs)
        yield from linear(f"{layer}.self_attn.o_proj", HEADS * HEAD, HIDDEN)
        yield from linear(f"{layer}.mlp.gate_proj", HIDDEN, INNER)
        yield from linear(f"{layer}.mlp.up_proj", HIDDEN, INNER)
        yield from linear(f"{layer}.mlp.down_proj", INNER, HIDDEN)
    yield "model.norm.weight", "BF16", (HIDDEN,), "ones"
    yield from linear("lm_head", HIDDEN, VOCABULARY)


def values(name, shape, kind):
    random = numpy.random.default_rng(zlib.crc32(name.encode()))
    if kind == "codes":
        return random.integers(0, 1 << 32, shape, numpy.uint32)
    if kind == "zeros":
        return numpy.full(shape, 0x77777777, numpy.uint32)
    if kind == "scales":
        return (random.uniform(0.8, 1.2, shape) * 0.004).astype(numpy.float16)
    if kind == "groups":
        return (numpy.arange(shape[0]) // GROUP).astype(numpy.int32)
    data = numpy.ones(shape, numpy.float32)
    if kind == "normal":
        data = random.standard_normal(shape, numpy.float32) * 0.02
    return (data.view(numpy.uint32) >> 16).astype(numpy.uint16)  # bfloat16 is the upper half


def main(folder):
    os.makedirs(folder, exist_ok=True)
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, dtype, shape, _ in tensors():
        size = int(numpy.prod(shape)) * (4 if dtype == "I32" else 2)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, _, shape, kind in tensors():
            file.write(values(name, shape, kind).tobytes())
    with open(os.path.join(folder, "config.json"), "w", encoding="ascii") as file:  # last: its presence says all is there
        json.dump(CONFIG, file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1])
