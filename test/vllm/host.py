"""host.py CHECKPOINT: vLLM as anybody would use it; it knows nothing of the library.

Says "MARK ready" when the engine is there, waits for a line on stdin, generates, says the tokens, waits for another one.
"""
import sys


def main():
    from vllm import LLM, SamplingParams

    llm = LLM(model=sys.argv[1], skip_tokenizer_init=True, dtype="bfloat16", max_model_len=1024, max_num_seqs=1,
              max_num_batched_tokens=1024, kv_cache_memory_bytes=128 << 20, enforce_eager=True, enable_prefix_caching=False)
    print("MARK ready", flush=True)
    sys.stdin.readline()
    greedy = SamplingParams(temperature=0.0, max_tokens=16, ignore_eos=True, detokenize=False)
    for length in (1, 700):
        prompt = {"prompt_token_ids": [10 + i % 200 for i in range(length)]}
        print("MARK tokens", *llm.generate([prompt], greedy, use_tqdm=False)[0].outputs[0].token_ids, flush=True)
    print("MARK done", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":  # the engine's processes import this file again
    main()
